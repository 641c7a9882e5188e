//! Classifies IP addresses. Tools may reach public addresses; every other class belongs to this machine, this network
//! or some special purpose, and a refusal names it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A class of addresses that are not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AddressClass {
    /// Its name in a refusal.
    pub(super) name: &'static str,
    /// Whether allowing a host's name does not open it: the owner must allow the very address. A name can be pointed at
    /// the service that hands out a cloud machine's credentials, which no setting is meant to allow.
    pub(super) by_address_only: bool,
}

const fn inside(name: &'static str) -> AddressClass {
    AddressClass { name, by_address_only: false }
}

const fn never_by_name(name: &'static str) -> AddressClass {
    AddressClass { name, by_address_only: true }
}

type Block4 = ([u8; 4], u8, AddressClass);
type Block6 = ([u16; 8], u8, AddressClass);

const METADATA: AddressClass = never_by_name("a cloud's metadata");
const LINK_LOCAL: AddressClass = never_by_name("link-local");
const MULTICAST: AddressClass = never_by_name("multicast");
const PRIVATE: AddressClass = inside("private");
const LOOPBACK: AddressClass = inside("loopback");
const DOCUMENTATION: AddressClass = inside("documentation");
const RESERVED: AddressClass = never_by_name("reserved");
const EMBEDDED: AddressClass = never_by_name("IPv4 inside IPv6");

/// The first matching block counts.
const BLOCKS_4: &[Block4] = &[
    ([169, 254, 169, 254], 32, METADATA),
    ([168, 63, 129, 16], 32, METADATA),
    ([100, 100, 100, 200], 32, METADATA),
    ([192, 0, 0, 192], 32, METADATA),
    ([0, 0, 0, 0], 8, never_by_name("unspecified")),
    ([10, 0, 0, 0], 8, PRIVATE),
    ([100, 64, 0, 0], 10, inside("carrier-grade NAT")),
    ([127, 0, 0, 0], 8, LOOPBACK),
    ([169, 254, 0, 0], 16, LINK_LOCAL),
    ([172, 16, 0, 0], 12, PRIVATE),
    ([192, 0, 0, 0], 24, RESERVED),
    ([192, 0, 2, 0], 24, DOCUMENTATION),
    ([192, 88, 99, 0], 24, RESERVED),
    ([192, 168, 0, 0], 16, PRIVATE),
    ([198, 18, 0, 0], 15, inside("benchmarking")),
    ([198, 51, 100, 0], 24, DOCUMENTATION),
    ([203, 0, 113, 0], 24, DOCUMENTATION),
    ([255, 255, 255, 255], 32, never_by_name("broadcast")),
    ([224, 0, 0, 0], 4, MULTICAST),
    ([240, 0, 0, 0], 4, RESERVED),
];

/// The first matching block counts; anything in none of them and outside of 2000::/3 is not public either.
const BLOCKS_6: &[Block6] = &[
    ([0, 0, 0, 0, 0, 0, 0, 0], 128, never_by_name("unspecified")),
    ([0, 0, 0, 0, 0, 0, 0, 1], 128, LOOPBACK),
    ([0, 0, 0, 0, 0, 0xffff, 0, 0], 96, EMBEDDED),
    ([0, 0, 0, 0, 0, 0, 0, 0], 96, EMBEDDED),
    ([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 32, never_by_name("NAT64")),
    ([0x100, 0, 0, 0, 0, 0, 0, 0], 64, RESERVED),
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, never_by_name("Teredo")),
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, RESERVED),
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, DOCUMENTATION),
    ([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, never_by_name("6to4")),
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, DOCUMENTATION),
    ([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128, METADATA),
    ([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, PRIVATE),
    ([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, LINK_LOCAL),
    ([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, PRIVATE),
    ([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, MULTICAST),
];

/// Returns the class of an address; `None` if it is public.
pub(super) fn class_of(address: IpAddr) -> Option<AddressClass> {
    match address {
        IpAddr::V4(address) => {
            let fits = |(start, length, _): &&Block4| {
                let shift = 32 - u32::from(*length);
                u32::from(address) >> shift == u32::from(Ipv4Addr::from(*start)) >> shift
            };
            BLOCKS_4.iter().find(fits).map(|(_, _, class)| *class)
        }
        IpAddr::V6(address) => {
            let fits = |(start, length, _): &&Block6| {
                let shift = 128 - u32::from(*length);
                u128::from(address) >> shift == u128::from(Ipv6Addr::from(*start)) >> shift
            };
            let is_global = address.segments()[0] >> 13 == 1;
            let known = BLOCKS_6.iter().find(fits).map(|(_, _, class)| *class);
            known.or_else(|| (!is_global).then_some(RESERVED))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_ranges_have_their_names_up_to_both_ends() {
        let check = |addresses: &str, expected: Option<&str>| {
            for address in addresses.split_whitespace() {
                let class = class_of(address.parse().unwrap()).map(|class| class.name);
                assert_eq!(class, expected, "{address}");
            }
        };
        check(
            "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0",
            None,
        );
        check(
            "169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.167.255.255",
            None,
        );
        check("192.169.0.0 198.17.255.255 198.20.0.0 203.0.112.255 203.0.114.0 223.255.255.255", None);
        check("2606:4700::1111 2a00:1450:4001::200e 2001:4860:4860::8888 2001:200::1 2003::1 3ffe::1", None);
        check("0.0.0.0 0.1.2.3 0.255.255.255 ::", Some("unspecified"));
        check("127.0.0.1 127.0.0.0 127.1.2.3 127.255.255.255 ::1", Some("loopback"));
        check(
            "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255",
            Some("private"),
        );
        check("fc00::1 fd00::1 fdff:ffff::1 fec0::1", Some("private"));
        check("100.64.0.0 100.127.255.255", Some("carrier-grade NAT"));
        check("169.254.0.1 169.254.255.255 fe80::1 febf::1", Some("link-local"));
        check(
            "169.254.169.254 168.63.129.16 100.100.100.200 192.0.0.192 fd00:ec2::254",
            Some("a cloud's metadata"),
        );
        check("198.18.0.0 198.19.255.255", Some("benchmarking"));
        check("192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff::1 3fff:fff::1", Some("documentation"));
        check("224.0.0.1 239.255.255.255 ff02::1 ff0e::1", Some("multicast"));
        check("255.255.255.255", Some("broadcast"));
        check(
            "192.0.0.1 192.88.99.1 240.0.0.1 255.255.255.254 100::1 2001:2::1 2001:10::1 2001:20::1",
            Some("reserved"),
        );
        check("4000::1 5f00::1 8000::1 e000::1 1::1", Some("reserved"));
        check("::ffff:127.0.0.1 ::ffff:8.8.8.8 ::127.0.0.1 ::8.8.8.8", Some("IPv4 inside IPv6"));
        check("64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::a00:1", Some("NAT64"));
        check("2002:7f00:1:: 2002:a00:1::1", Some("6to4"));
        check("2001:0:4136:e378:8000:63bf:3fff:fdd2", Some("Teredo"));
    }
}

#!/bin/sh
# Installs Aethon's programs, without root into ~/.local, or as root into /usr/local.
#
#   sh install.sh                                  the release that this script came with
#   AETHON_BASE=https://mirror.example/aethon sh install.sh
#   AETHON_BASE=target/dist sh install.sh          from a folder with the archive and SHA256SUMS
#   AETHON_VERSION=0.3.0 sh install.sh             if there are several versions
#   AETHON_PREFIX=/opt/aethon sh install.sh        somewhere else
#
# Nothing is installed unless the SHA-256 sum of the archive stands in SHA256SUMS. Your home (~/.aethon) is not touched. To
# remove the programs again: sh install.sh --uninstall, with the same AETHON_PREFIX.
set -eu

# Where the release is. Releases fill it in; in a checkout it is empty.
RELEASE=""

say() { printf '%s\n' "$*"; }
fail() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }
has() { command -v "$1" > /dev/null 2>&1; }

prefix() {
    if [ -n "${AETHON_PREFIX:-}" ]; then
        printf '%s' "$AETHON_PREFIX"
    elif [ "$(id -u)" = 0 ]; then
        printf '/usr/local'
    else
        [ -n "${HOME:-}" ] || fail "HOME is not set; name the folder to install to with AETHON_PREFIX"
        printf '%s/.local' "$HOME"
    fi
}

# What was installed is listed here, one path below the prefix a line.
LIST=share/doc/aethon/installed-files

processor() {
    case "$(uname -m)" in
        x86_64 | amd64) printf 'x86_64' ;;
        aarch64 | arm64) printf 'aarch64' ;;
        *) fail "there is no archive for the processor $(uname -m); build from source instead (README.md)" ;;
    esac
}

# fetch NAME FILE: gets a file of the release.
fetch() {
    case "$BASE" in
        http://* | https://*)
            if has curl; then
                curl --fail --silent --show-error --location --proto '=http,https' --output "$2" "$BASE/$1"
            elif has wget; then
                wget --quiet --output-document="$2" "$BASE/$1"
            else
                fail "curl or wget is needed to download; or set AETHON_BASE to a folder with the archive and SHA256SUMS"
            fi || fail "$BASE/$1 could not be downloaded"
            ;;
        *)
            [ -f "$BASE/$1" ] || fail "there is no $BASE/$1"
            cp "$BASE/$1" "$2"
            ;;
    esac
}

sum_of() {
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    else
        fail "sha256sum or shasum is needed to check the archive"
    fi
}

uninstall() {
    [ -f "$PREFIX/$LIST" ] || fail "nothing was installed to $PREFIX by this script"
    while IFS= read -r path; do
        rm -f "$PREFIX/$path"
    done < "$PREFIX/$LIST"
    rm -f "$PREFIX/$LIST"
    rmdir "$PREFIX/share/doc/aethon" 2> /dev/null || true
    say "removed Aethon from $PREFIX; your home (~/.aethon) is untouched"
}

install_files() {
    tar -xzf "$WORK/$ARCHIVE" -C "$WORK" || fail "$ARCHIVE cannot be unpacked"
    top="$WORK/${ARCHIVE%.tar.gz}"
    [ -x "$top/bin/aethon-server" ] || fail "$ARCHIVE has no bin/aethon-server"
    "$top/bin/aethon-server" --version > "$WORK/version" 2>&1 ||
        fail "the programs do not run on this system: $(head -n 1 "$WORK/version")"
    # Units of systemd name the program by its full path.
    find "$top/share/systemd" -type f | while IFS= read -r unit; do
        sed "s|^ExecStart=/usr/bin/|ExecStart=$PREFIX/bin/|" "$unit" > "$WORK/unit"
        cp "$WORK/unit" "$unit"
    done
    (cd "$top" && find . -type f | sed 's|^\./||' | sort) > "$WORK/list"
    while IFS= read -r path; do
        mkdir -p "$PREFIX/${path%/*}"
        # Beside the old file and then in its place: a program that runs is not overwritten.
        cp "$top/$path" "$PREFIX/$path.new"
        mv -f "$PREFIX/$path.new" "$PREFIX/$path"
    done < "$WORK/list"
    # What an earlier version had and this one has not.
    if [ -f "$PREFIX/$LIST" ]; then
        while IFS= read -r path; do
            grep -Fxq -- "$path" "$WORK/list" || rm -f "$PREFIX/$path"
        done < "$PREFIX/$LIST"
    fi
    cp "$WORK/list" "$PREFIX/$LIST"
}

PREFIX=$(prefix)
case "${1:-}" in
    '') ;;
    --uninstall) uninstall; exit 0 ;;
    *) fail "unknown argument: $1 (the settings are environment variables; see the head of this script)" ;;
esac
[ "$(uname -s)" = Linux ] || fail "there are archives for Linux only; build from source instead (README.md)"
BASE=${AETHON_BASE:-$RELEASE}
[ -n "$BASE" ] || fail "set AETHON_BASE to the folder or address of the release: the archive and SHA256SUMS"
BASE=${BASE%/}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
trap 'exit 1' HUP INT TERM

fetch SHA256SUMS "$WORK/SHA256SUMS"
END="-$(processor)-linux.tar.gz"
if [ -n "${AETHON_VERSION:-}" ]; then
    ARCHIVE="aethon-$AETHON_VERSION$END"
else
    ARCHIVE=$(sed -n "s/^[0-9a-f]\{64\}  \(aethon-[0-9A-Za-z.~+-]*$END\)\$/\1/p" "$WORK/SHA256SUMS" | tail -n 1)
    [ -n "$ARCHIVE" ] || fail "$BASE/SHA256SUMS names no archive for this machine (aethon-*$END)"
fi
EXPECTED=$(sed -n "s/^\([0-9a-f]\{64\}\)  $ARCHIVE\$/\1/p" "$WORK/SHA256SUMS")
[ -n "$EXPECTED" ] || fail "$BASE/SHA256SUMS does not name $ARCHIVE"
fetch "$ARCHIVE" "$WORK/$ARCHIVE"
FOUND=$(sum_of "$WORK/$ARCHIVE")
[ "$FOUND" = "$EXPECTED" ] ||
    fail "$ARCHIVE is damaged or was changed: its SHA-256 sum is $FOUND, and SHA256SUMS has $EXPECTED; nothing was installed"
install_files
say "installed $(head -n 1 "$WORK/version") to $PREFIX/bin"
case ":$PATH:" in
    *":$PREFIX/bin:"*) ;;
    *) say "$PREFIX/bin is not in your PATH; add it, for example in ~/.profile: PATH=\"$PREFIX/bin:\$PATH\"" ;;
esac
say "next: aethon-cli init, then aethon-server, or aethon-cli service install"

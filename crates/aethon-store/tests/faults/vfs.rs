//! The layer between SQLite and the system's files: asks the disk before it hands an operation on.
//!
//! SQLite takes such a layer as tables of C functions, which safe Rust cannot write. All of it is here, in a test, and every
//! function does no more than ask, pass on and return. Registered as the default, it lies under the store without its
//! knowledge.
#![expect(unsafe_code, reason = "SQLite's interface for files is one of C; this is the only such place")]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::mem::size_of;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::Once;

use rusqlite::ffi::{
    self, SQLITE_IOERR_DELETE, SQLITE_IOERR_FSYNC, SQLITE_IOERR_READ, SQLITE_IOERR_TRUNCATE,
    SQLITE_IOERR_WRITE, SQLITE_OK, sqlite3_file, sqlite3_io_methods, sqlite3_vfs,
};

use crate::disk::{self, Operation, Verdict};

/// An open file: SQLite's part, whose it is, and behind it in the same piece of memory the file of the system's layer.
#[repr(C)]
struct File {
    base: sqlite3_file,
    path: *mut PathBuf,
}

/// Puts the layer under every connection that is opened from now on in this process.
pub fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: the system's layer lives as long as the process, and so does ours, which is leaked.
        unsafe {
            let system = ffi::sqlite3_vfs_find(null());
            let mut own = *system;
            own.szOsFile += size_of::<File>() as c_int;
            own.zName = c"failing".as_ptr();
            own.pAppData = system.cast::<c_void>();
            own.pNext = null_mut();
            own.xOpen = Some(open);
            own.xDelete = Some(delete);
            let registered = ffi::sqlite3_vfs_register(Box::into_raw(Box::new(own)), 1);
            assert_eq!(registered, SQLITE_OK, "the layer is taken");
        }
    });
}

unsafe fn system(vfs: *mut sqlite3_vfs) -> *mut sqlite3_vfs {
    // SAFETY: `install` has put it there.
    unsafe { (*vfs).pAppData.cast::<sqlite3_vfs>() }
}

unsafe fn real(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: SQLite allocates `szOsFile` bytes for each file, which is ours and then the system's.
    unsafe { file.cast::<u8>().add(size_of::<File>()).cast::<sqlite3_file>() }
}

unsafe fn methods(file: *mut sqlite3_file) -> &'static sqlite3_io_methods {
    // SAFETY: the system's layer has set its table, which is static, when the file was opened.
    unsafe { &*(*real(file)).pMethods }
}

unsafe fn path(file: *mut sqlite3_file) -> &'static Path {
    // SAFETY: `open` has put it there, and `close`, which ends the file, is the only one to take it away.
    unsafe { (*(*file.cast::<File>()).path).as_path() }
}

unsafe fn named(name: *const c_char) -> PathBuf {
    if name.is_null() {
        return PathBuf::new();
    }
    // SAFETY: SQLite's names end with a zero.
    PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()))
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite gives memory for both files; the path is freed by `close`, which SQLite calls when this succeeds.
    unsafe {
        (*file).pMethods = null();
        (*real(file)).pMethods = null();
        let system = system(vfs);
        let opened = ((*system).xOpen.unwrap())(system, name, real(file), flags, out);
        if opened == SQLITE_OK {
            (*file.cast::<File>()).path = Box::into_raw(Box::new(named(name)));
            (*file).pMethods = &METHODS;
        }
        opened
    }
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    if disk::is_out() {
        return SQLITE_IOERR_DELETE;
    }
    // SAFETY: passed on as it came.
    unsafe {
        let system = system(vfs);
        let deleted = ((*system).xDelete.unwrap())(system, name, sync);
        if deleted == SQLITE_OK {
            disk::removed(&named(name));
        }
        deleted
    }
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: nothing uses the file after this, and the path came from a box.
    unsafe {
        drop(Box::from_raw((*file.cast::<File>()).path));
        (methods(file).xClose.unwrap())(real(file))
    }
}

unsafe extern "C" fn read(file: *mut sqlite3_file, to: *mut c_void, bytes: c_int, at: i64) -> c_int {
    // SAFETY: passed on as it came.
    unsafe {
        match disk::ask(Operation::Read, path(file), bytes as usize) {
            Verdict::Goes => (methods(file).xRead.unwrap())(real(file), to, bytes, at),
            Verdict::Fails | Verdict::Tears(_) => SQLITE_IOERR_READ,
        }
    }
}

unsafe extern "C" fn write(file: *mut sqlite3_file, from: *const c_void, bytes: c_int, at: i64) -> c_int {
    // SAFETY: passed on as it came, or less of it.
    unsafe {
        let write = methods(file).xWrite.unwrap();
        match disk::ask(Operation::Write, path(file), bytes as usize) {
            Verdict::Goes => write(real(file), from, bytes, at),
            Verdict::Tears(part) => {
                write(real(file), from, part as c_int, at);
                SQLITE_IOERR_WRITE
            }
            Verdict::Fails => SQLITE_IOERR_WRITE,
        }
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: i64) -> c_int {
    // SAFETY: passed on as it came.
    unsafe {
        match disk::ask(Operation::Truncate, path(file), 0) {
            Verdict::Goes => (methods(file).xTruncate.unwrap())(real(file), size),
            Verdict::Fails | Verdict::Tears(_) => SQLITE_IOERR_TRUNCATE,
        }
    }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: passed on as it came.
    unsafe {
        match disk::ask(Operation::Sync, path(file), 0) {
            Verdict::Goes => {
                // The disk is simulated, so the real one need not spin.
                let _ = flags;
                disk::synced(path(file));
                SQLITE_OK
            }
            Verdict::Fails | Verdict::Tears(_) => SQLITE_IOERR_FSYNC,
        }
    }
}

/// Functions that only pass on.
macro_rules! passed_on {
    ($($name:ident => $method:ident ( $($argument:ident : $kind:ty),* ) -> $result:ty;)*) => { $(
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $kind)*) -> $result {
            // SAFETY: passed on as it came, to the method that the system's layer has for it.
            unsafe { (methods(file).$method.unwrap())(real(file) $(, $argument)*) }
        }
    )* };
}

passed_on! {
    file_size => xFileSize(size: *mut i64) -> c_int;
    lock => xLock(level: c_int) -> c_int;
    unlock => xUnlock(level: c_int) -> c_int;
    check_reserved_lock => xCheckReservedLock(out: *mut c_int) -> c_int;
    file_control => xFileControl(what: c_int, argument: *mut c_void) -> c_int;
    sector_size => xSectorSize() -> c_int;
    device_characteristics => xDeviceCharacteristics() -> c_int;
    shm_map => xShmMap(page: c_int, size: c_int, extend: c_int, out: *mut *mut c_void) -> c_int;
    shm_lock => xShmLock(offset: c_int, count: c_int, flags: c_int) -> c_int;
    shm_barrier => xShmBarrier() -> ();
    shm_unmap => xShmUnmap(delete: c_int) -> c_int;
    fetch => xFetch(at: i64, bytes: c_int, out: *mut *mut c_void) -> c_int;
    unfetch => xUnfetch(at: i64, page: *mut c_void) -> c_int;
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 3,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: Some(fetch),
    xUnfetch: Some(unfetch),
};

//! Linux's error numbers that mean something to Teiji, with their names
//! (`include/uapi/asm-generic/errno*.h`; the same on x86, Arm and RISC-V).

macro_rules! errors {
    ($($NAME:ident = $number:literal, $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub const $NAME: i32 = $number;
        )*

        const NAMES: &[(i32, &str)] = &[$(($number, stringify!($NAME))),*];
    };
}

errors! {
    EPERM = 1, "Operation not permitted.";
    ENOENT = 2, "No such file or directory.";
    ESRCH = 3, "No such process.";
    EINTR = 4, "Interrupted system call.";
    EIO = 5, "Input/output error.";
    ENXIO = 6, "No such device or address.";
    EBADF = 9, "Bad file descriptor.";
    EAGAIN = 11, "Try again.";
    ENOMEM = 12, "Out of memory.";
    EACCES = 13, "Permission denied.";
    EFAULT = 14, "Bad address.";
    EBUSY = 16, "Device or resource busy.";
    EEXIST = 17, "File exists.";
    ENODEV = 19, "No such device.";
    EINVAL = 22, "Invalid argument.";
    EPIPE = 32, "Broken pipe.";
    ERANGE = 34, "Result not representable.";
    ENOSYS = 38, "No such system call.";
    EMSGSIZE = 90, "Message too long.";
    ENOPROTOOPT = 92, "Protocol not available.";
    EOPNOTSUPP = 95, "Operation not supported.";
    EAFNOSUPPORT = 97, "Address family not supported.";
    EADDRINUSE = 98, "Address already in use.";
    EADDRNOTAVAIL = 99, "Address not available.";
    ENETDOWN = 100, "Network is down.";
    ENETUNREACH = 101, "Network is unreachable.";
    ENOBUFS = 105, "No buffer space available.";
    ETIMEDOUT = 110, "Connection timed out.";
    ECONNREFUSED = 111, "Connection refused.";
    EHOSTUNREACH = 113, "No route to host.";
}

/// The name of an error, or its number.
pub fn name(errno: i32) -> String {
    let known = NAMES.iter().find(|(number, _)| *number == errno);
    known.map_or_else(|| errno.to_string(), |(_, name)| (*name).to_owned())
}

/// The error that [`name`] wrote.
pub fn parse(name: &str) -> Option<i32> {
    let named = NAMES.iter().find(|(_, known)| *known == name).map(|(number, _)| *number);
    named.or_else(|| name.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_and_without_a_name_are_read_back() {
        assert_eq!((name(ENOBUFS), name(9_999)), ("ENOBUFS".to_owned(), "9999".to_owned()));
        assert!((0..200).all(|errno| parse(&name(errno)) == Some(errno)));
        assert_eq!(parse("ENOTHING"), None);
    }
}

//! The virtual laboratory: a real PREEMPT_RT kernel in deterministic virtual
//! time.
//!
//! * [`arch`] – the processor architectures of guests,
//! * [`machine`] – the virtual machine as a QEMU command line,
//! * [`initramfs`] – the guest's initial file system,
//! * [`vm`] – runs one machine to its end,
//! * [`console`] – what the guest's kernel printed,
//! * [`protocol`] – what the guest tells the host,
//! * [`guest_modules`] – the modules in the guest's file system,
//! * [`guest`] – what `teiji` does as the guest's init,
//! * [`boards`] – guests that people reach by SSH,
//! * [`suite`] – test scripts for kernel modules, and the judgement of their kernel,
//! * [`cache`] – kernels, QEMU and packages, fetched once (`fetch`), kept in a folder (`store`) and checked at every use,
//! * [`kernel`] – an image and its modules,
//! * [`qemu_install`] – the QEMU that fits,
//! * [`recorder`] – what the guest's kernel does, step by step.
//!
//! The same machine gives the same measurement on every host, bit for bit:
//! time in the guest is the number of instructions it has executed. Boards are
//! the exception: they run in real time.
#![forbid(unsafe_code)]

pub mod arch;
pub mod boards;
pub mod cache;
pub mod console;
mod elf;
mod fetch;
pub mod fetched;
pub mod guest;
pub mod guest_modules;
pub mod initramfs;
pub mod kernel;
mod library;
mod lockstep;
pub mod machine;
pub mod protocol;
pub mod qemu_install;
mod qemu_version;
pub mod recorder;
mod store;
pub mod suite;
pub mod vm;

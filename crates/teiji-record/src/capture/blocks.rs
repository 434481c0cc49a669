//! Builds pcapng files for tests.

/// Builds pcapng files byte by byte, in either byte order.
pub(crate) struct Blocks {
    big_endian: bool,
    pub(crate) bytes: Vec<u8>,
}

impl Blocks {
    pub(crate) fn new(big_endian: bool) -> Self {
        Self { big_endian, bytes: Vec::new() }.section()
    }

    fn u16(&self, value: u16) -> [u8; 2] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u32(&self, value: u32) -> [u8; 4] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(crate) fn block(mut self, kind: u32, body: &[u8]) -> Self {
        let padded = body.len().next_multiple_of(4);
        let length = self.u32(u32::try_from(padded + 12).unwrap());
        self.bytes.extend(self.u32(kind));
        self.bytes.extend(length);
        self.bytes.extend_from_slice(body);
        self.bytes.resize(self.bytes.len() + padded - body.len(), 0);
        self.bytes.extend(length);
        self
    }

    pub(crate) fn section(self) -> Self {
        let mut body = self.u32(0x1A2B_3C4D).to_vec();
        body.extend(self.u16(1));
        body.extend(self.u16(0));
        body.extend([0xFF; 8]);
        self.block(0x0A0D_0D0A, &body)
    }

    pub(crate) fn interface(self, link_type: u16, options: &[(u16, &[u8])]) -> Self {
        let mut body = self.u16(link_type).to_vec();
        body.extend([0; 6]);
        for (code, value) in options {
            body.extend(self.u16(*code));
            body.extend(self.u16(u16::try_from(value.len()).unwrap()));
            body.extend_from_slice(value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        self.block(1, &body)
    }

    pub(crate) fn packet(self, interface: u32, ticks: u64, frame: &[u8]) -> Self {
        let length = u32::try_from(frame.len()).unwrap();
        let [high, low] =
            [ticks >> 32, ticks & 0xFFFF_FFFF].map(|half| u32::try_from(half).unwrap());
        let words = [interface, high, low, length, length];
        let mut body: Vec<u8> = words.iter().flat_map(|w| self.u32(*w)).collect();
        body.extend_from_slice(frame);
        self.block(6, &body)
    }
}

// Puts the wasm together from its parts (see split.rs).
function join(data) {
  const PARTS = 4 + 5 * 256 + 8, OPERANDS = 4, OFFSETS = OPERANDS + 5 * 256;
  const head = new Uint32Array(data.buffer.slice(0, 4 * (PARTS + 1))), starts = head.slice(1), out = new Uint8Array(data.length);
  let from = head.byteLength, to = 0;
  for (let part = 0; part < PARTS; part++) {
    starts[part] = from;
    from += head[part + 1];
  }
  const part = (which) => data.subarray(starts[which], starts[which] + head[which + 1]);
  const before = part(0), after = part(1), LOCALS = 2, OPCODES = 3;
  function copy(stream) {
    return (out[to++] = data[starts[stream]++]);
  }
  // Copies a number from a stream; says what it is.
  function number(stream) {
    let value = 0, shift = 0, byte;
    do {
      byte = copy(stream);
      value |= (byte & 127) << shift;
      shift += 7;
    } while (byte > 127);
    return value;
  }
  function write(value) {
    for (; value > 127; value >>>= 7) out[to++] = (value & 127) | 128;
    out[to++] = value;
  }
  // What stands behind each opcode: a number, two numbers, alignment and offset, or something of its own.
  const shapes = new Uint8Array(256).fill(1, 2, 5).fill(1, 0x20, 0x27).fill(3, 0x28, 0x3f).fill(1, 0x3f, 0x43);
  for (const opcode of [0x0c, 0x0d, 0x10, 0x12, 0xd0, 0xd2]) shapes[opcode] = 1;
  for (const opcode of [0x11, 0x13]) shapes[opcode] = 2;
  for (const opcode of [0x0e, 0x1c, 0x43, 0x44, 0xfc]) shapes[opcode] = 4;
  const streams = new Uint16Array(256).map((_, opcode) => OPERANDS + opcode);
  [0x20, 0x41, 0x10, 0x42].forEach((opcode, place) => (streams[opcode] = OPERANDS + (place + 1) * 256));
  function body() {
    for (let groups = number(LOCALS); groups > 0; groups--) {
      number(LOCALS);
      copy(LOCALS);
    }
    for (let open = 1, last = 0; open > 0; ) {
      const opcode = copy(OPCODES), shape = shapes[opcode], stream = streams[opcode];
      if (opcode === 0x0b) open--;
      else if (opcode > 1 && opcode < 5) open++;
      if (shape === 1) number(stream > OPERANDS + 255 ? stream + (opcode === 0x10 ? last : data[starts[OPCODES]]) : stream);
      else if (shape === 2) {
        number(stream);
        number(stream);
      } else if (shape === 3) {
        number(stream);
        for (let place = 0, first = OFFSETS + (opcode < 0x36 ? 0 : 4); copy(first + place) > 127; ) if (place < 3) place++;
      } else if (opcode === 0x43 || opcode === 0x44) for (let count = opcode === 0x43 ? 4 : 8; count > 0; count--) copy(stream);
      else if (shape > 0) {
        let count = number(stream);
        if (opcode === 0x0e) count++;
        if (opcode === 0xfc) count = count < 8 ? 0 : count < 15 && count % 2 === 0 ? 2 : 1;
        while (count--) number(stream);
      }
      last = opcode;
    }
  }
  // The length of what `make` writes goes before it.
  function measured(make) {
    const start = to;
    to += 5;
    make();
    const end = to;
    to = start;
    write(end - start - 5);
    out.copyWithin(to, start + 5, end);
    to += end - start - 5;
  }
  out.set(before);
  to = before.length;
  measured(() => {
    write(head[0]);
    for (let left = head[0]; left > 0; left--) measured(body);
  });
  out.set(after, to);
  return out.subarray(0, to + after.length);
}

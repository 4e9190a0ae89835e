// Starts the page from the wasm and its loader, which stand in this document.

// From text to bytes: 13 bits in two of 91 letters (see encode.rs).
function bytesOf(text) {
  const values = new Uint8Array(128);
  for (let letter = 33, value = 0; letter < 127; letter++) if (!"<&\\".includes(String.fromCharCode(letter))) values[letter] = value++;
  const bytes = new Uint8Array((text.length * 13) >> 4);
  for (let from = 0, to = 0, kept = 0, count = 0; from < text.length; from += 2) {
    kept = (kept << 13) | (values[text.charCodeAt(from)] * 91 + values[text.charCodeAt(from + 1)]);
    for (count += 13; count >= 8; ) bytes[to++] = kept >> (count -= 8);
    kept &= 255;
  }
  return bytes;
}

// LZMA with a header that gives the size, after the specification in the LZMA SDK.
async function unpack(data) {
  const MATCH = 0, REP = 192, REP0 = 204, REP1 = 216, REP2 = 228, REP0_LONG = 240, SLOT = 432, SPECIAL = 688, ALIGN = 803;
  const LENGTH = 819, REP_LENGTH = 1333, LITERAL = 1847;
  const lc = data[0] % 9, lp = ((data[0] / 9) | 0) % 5, pb = (data[0] / 45) | 0;
  const size = data[5] | (data[6] << 8) | (data[7] << 16) | (data[8] << 24);
  const out = new Uint8Array(size);
  const odds = new Uint16Array(LITERAL + (768 << (lc + lp))).fill(1024);
  // In an array because numbers above 2^31 are slow outside of one.
  const RANGE = 0, CODE = 1, AT = 2, coder = Uint32Array.of(0xffffffff, 0, 14);
  while (coder[AT] < 18) coder[CODE] = (coder[CODE] << 8) | data[coder[AT]++];

  function bit(i) {
    const odd = odds[i], range = coder[RANGE], code = coder[CODE], bound = Math.imul(range >>> 11, odd) >>> 0;
    if (code < bound) {
      odds[i] = odd + ((2048 - odd) >> 5);
      if (bound < 0x1000000) {
        coder[RANGE] = bound << 8;
        coder[CODE] = (code << 8) | data[coder[AT]++];
      } else coder[RANGE] = bound;
      return 0;
    }
    odds[i] = odd - (odd >> 5);
    const left = (range - bound) >>> 0;
    if (left < 0x1000000) {
      coder[RANGE] = left << 8;
      coder[CODE] = ((code - bound) << 8) | data[coder[AT]++];
    } else {
      coder[RANGE] = left;
      coder[CODE] = code - bound;
    }
    return 1;
  }
  function tree(from, bits) {
    let m = 1;
    for (let i = 0; i < bits; i++) m = (m << 1) | bit(from + m);
    return m - (1 << bits);
  }
  function reverse(from, bits) {
    let m = 1, value = 0;
    for (let i = 0; i < bits; i++) {
      const b = bit(from + m);
      m = (m << 1) | b;
      value |= b << i;
    }
    return value;
  }
  function direct(bits) {
    let value = 0;
    while (bits--) {
      const half = coder[RANGE] >>> 1, b = coder[CODE] >= half ? 1 : 0;
      if (b) coder[CODE] -= half;
      coder[RANGE] = half;
      value = (value << 1) | b;
      if (half < 0x1000000) {
        coder[RANGE] = half << 8;
        coder[CODE] = (coder[CODE] << 8) | data[coder[AT]++];
      }
    }
    return value;
  }
  function length(from, place) {
    if (!bit(from)) return tree(from + 2 + (place << 3), 3);
    if (!bit(from + 1)) return 8 + tree(from + 130 + (place << 3), 3);
    return 16 + tree(from + 258, 8);
  }

  let kept = [0, 0, 0, 0, 0, 0];
  function until(end) {
    let [state, rep0, rep1, rep2, rep3, pos] = kept;
    while (pos < end) {
      const place = pos & ((1 << pb) - 1);
      if (!bit(MATCH + (state << 4) + place)) {
        const before = pos ? out[pos - 1] : 0;
        const from = LITERAL + 768 * (((pos & ((1 << lp) - 1)) << lc) + (before >> (8 - lc)));
        let letter = 1;
        if (state > 6) {
          let match = out[pos - rep0 - 1], same = true;
          while (same && letter < 256) {
            const expected = (match >> 7) & 1, b = bit(from + ((1 + expected) << 8) + letter);
            match <<= 1;
            letter = (letter << 1) | b;
            same = expected === b;
          }
        }
        while (letter < 256) letter = (letter << 1) | bit(from + letter);
        out[pos++] = letter;
        state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
        continue;
      }
      let count;
      if (bit(REP + state)) {
        if (!bit(REP0 + state)) {
          if (!bit(REP0_LONG + (state << 4) + place)) {
            state = state < 7 ? 9 : 11;
            out[pos] = out[pos - rep0 - 1];
            pos++;
            continue;
          }
        } else {
          let distance = rep1;
          if (bit(REP1 + state)) {
            distance = rep2;
            if (bit(REP2 + state)) {
              distance = rep3;
              rep3 = rep2;
            }
            rep2 = rep1;
          }
          rep1 = rep0;
          rep0 = distance;
        }
        count = length(REP_LENGTH, place);
        state = state < 7 ? 8 : 11;
      } else {
        rep3 = rep2;
        rep2 = rep1;
        rep1 = rep0;
        count = length(LENGTH, place);
        state = state < 7 ? 7 : 10;
        const slot = tree(SLOT + (Math.min(count, 3) << 6), 6);
        rep0 = slot;
        if (slot > 3) {
          const bits = (slot >> 1) - 1;
          rep0 = (2 | (slot & 1)) << bits;
          rep0 += slot < 14 ? reverse(SPECIAL + rep0 - slot, bits) : (direct(bits - 4) << 4) + reverse(ALIGN, 4);
        }
      }
      for (count += 2; count--; pos++) out[pos] = out[pos - rep0 - 1];
    }
    kept = [state, rep0, rep1, rep2, rep3, pos];
  }

  // In pieces, so that the page can be drawn and scrolled meanwhile.
  let pause = performance.now() + 30;
  while (kept[5] < size) {
    until(Math.min(size, kept[5] + 0x8000));
    if (performance.now() > pause) {
      await new Promise((go) => setTimeout(go));
      pause = performance.now() + 30;
    }
  }
  return out;
}

// Puts the code of the module together again (see split.rs).
function join(data) {
  const STREAMS = 259, LOCALS = 256, SIZES = 257, SECOND = 258, HEAD = 4 * (STREAMS + 3);
  const lengths = new Uint32Array(data.buffer.slice(0, HEAD)), out = new Uint8Array(data.length - HEAD), at = new Uint32Array(STREAMS);
  let to = lengths[0], from = HEAD + to, functions = lengths[2];
  out.set(data.subarray(HEAD, from));
  const after = data.subarray(from, (from += lengths[1]));
  for (let k = 0; k < STREAMS; from += lengths[3 + k++]) at[k] = from;
  // Copies a number from a stream; says what it is.
  function number(stream) {
    let value = 0, shift = 0, byte;
    do {
      out[to++] = byte = data[at[stream]++];
      value |= (byte & 127) << shift;
      shift += 7;
    } while (byte > 127);
    return value;
  }
  function bytes(stream, count) {
    while (count--) out[to++] = data[at[stream]++];
  }
  // What stands behind each opcode: numbers, a second number from its own stream, or something of its own.
  const operands = new Uint8Array(256).fill(1, 2, 5).fill(1, 0x20, 0x27).fill(2, 0x28, 0x3f).fill(3, 0x3f, 0x45);
  for (const opcode of [0x0c, 0x0d, 0x10, 0x12, 0x41, 0x42, 0xd0, 0xd2]) operands[opcode] = 1;
  for (const opcode of [0x11, 0x13]) operands[opcode] = 2;
  for (const opcode of [0x0e, 0x1c, 0xfc]) operands[opcode] = 3;
  while (functions--) {
    const size = number(SIZES), end = to + size;
    for (let locals = number(LOCALS); locals--; bytes(LOCALS, 1)) number(LOCALS);
    while (to < end) {
      const opcode = (out[to++] = data[at[0]++]), kind = operands[opcode];
      if (kind === 0) continue;
      if (kind < 3) {
        number(opcode);
        if (kind > 1) number(SECOND);
      } else if (opcode === 0x0e) for (let count = number(opcode) + 1; count--; ) number(opcode);
      else if (opcode === 0x1c) bytes(opcode, number(opcode));
      else if (opcode === 0xfc) {
        const which = number(opcode);
        for (let count = which < 8 ? 0 : which < 15 && which % 2 === 0 ? 2 : 1; count--; ) number(opcode);
      } else bytes(opcode, opcode < 0x43 ? 1 : opcode === 0x43 ? 4 : 8);
    }
  }
  out.set(after, to);
  return out;
}

// What stands in the document is drawn first: unpacking takes longer than a person should look at nothing. A page in the
// background is not drawn, and does not wait.
await new Promise((go) => {
  setTimeout(go, 50);
  requestAnimationFrame(() => setTimeout(go));
});

try {
  const packed = document.getElementById("wasm");
  const all = await unpack(bytesOf(packed.textContent)), code = all.length - packed.dataset.loader;
  const loader = document.createElement("script");
  loader.type = "module";
  loader.textContent = new TextDecoder().decode(all.subarray(code));
  // The loader is a module of its own, whose hash is in the policy; its last line calls this.
  await new Promise((done, failed) => {
    globalThis.startPage = (init) => init({ module_or_path: join(all.subarray(0, code)) }).then(done, failed);
    document.head.append(loader);
  });
  delete globalThis.startPage;
  loader.remove();
} catch (reason) {
  const failure = document.getElementById("failure");
  if (failure) {
    failure.querySelectorAll("code").forEach((place) => (place.textContent = String(reason)));
    failure.hidden = false;
  }
  throw reason;
}

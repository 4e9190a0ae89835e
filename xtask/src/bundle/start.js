// Starts the page from the wasm and its loader, which stand in this document.

// Work goes in pieces of so many milliseconds, so that the page can be drawn and scrolled meanwhile: a phone takes four
// times as long for each. A timer would wait for four milliseconds more between them; a message does not.
const PIECE = 8, { port1: heard, port2: said } = new MessageChannel();
let pause = performance.now() + PIECE;
async function breathe() {
  if (performance.now() < pause) return;
  await new Promise((go) => {
    heard.onmessage = go;
    said.postMessage(0);
  });
  pause = performance.now() + PIECE;
}

// From text to bytes: seven of 116 letters are six bytes (see encode.rs).
function bytesOf(text) {
  const values = new Uint8Array(128), bytes = new Uint8Array((text.length / 7) * 6);
  for (let letter = 0, value = 0; letter < 128; letter++)
    if (!"\0\b\t\n\v\f\r\x1a\x1b<&\x7f".includes(String.fromCharCode(letter))) values[letter] = value++;
  for (let from = 0, to = 0; from < text.length; ) {
    let high = 0, low = 0;
    for (let at = 0; at < 3; at++) high = high * 116 + values[text.charCodeAt(from++)];
    for (let at = 0; at < 4; at++) low = low * 116 + values[text.charCodeAt(from++)];
    const number = high * 181063936 + low, front = Math.floor(number / 0x1000000), back = number % 0x1000000;
    bytes[to++] = front >> 16;
    bytes[to++] = front >> 8;
    bytes[to++] = front;
    bytes[to++] = back >> 16;
    bytes[to++] = back >> 8;
    bytes[to++] = back;
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

  while (kept[5] < size) {
    until(Math.min(size, kept[5] + 0x4000));
    await breathe();
  }
  return out;
}

// What stands in the document is drawn first: unpacking takes longer than a person should look at nothing. A page in the
// background is not drawn, and does not wait.
await new Promise((go) => {
  setTimeout(go, 50);
  requestAnimationFrame(() => setTimeout(go));
});

function fail(reason) {
  const failure = document.getElementById("failure");
  if (failure) {
    failure.querySelectorAll("code").forEach((place) => (place.textContent = String(reason)));
    failure.hidden = false;
  }
}

// Code that stops where it should never come to answers nothing any more.
addEventListener("error", ({ error }) => {
  if (error?.name === "RuntimeError") fail(error);
});

try {
  const data = await unpack(bytesOf(document.getElementById("wasm").textContent)), parts = 4 + 5 * 256 + 8;
  const script = new Uint32Array(data.buffer, 4, parts).reduce((sum, length) => sum + length, 4 * (parts + 1));
  const [style, load] = new TextDecoder().decode(data.subarray(script)).split("\0");
  // A page that was saved has it already.
  if (!document.getElementById("started")) {
    const sheet = document.createElement("style");
    sheet.id = "started";
    sheet.textContent = style;
    document.head.append(sheet);
  }
  const loader = document.createElement("script");
  loader.type = "module";
  loader.textContent = load;
  // The loader is a module of its own, whose hash is in the policy; its last line calls this.
  await new Promise((done, failed) => {
    globalThis.startPage = (init, join) => init({ module_or_path: join(data) }).then(done, failed);
    document.head.append(loader);
  });
  delete globalThis.startPage;
  heard.close();
  loader.remove();
} catch (reason) {
  fail(reason);
  throw reason;
}

// Starts the page from the wasm that stands in this document. `__wbg_init` is the loader's, above.
try {
  const text = atob(document.getElementById("wasm").textContent);
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const headers = { "Content-Type": "application/wasm" };
  await __wbg_init({ module_or_path: new Response(unpacked, { headers }) });
} catch (reason) {
  const failure = document.getElementById("failure");
  if (failure) {
    failure.querySelectorAll("code").forEach((place) => (place.textContent = String(reason)));
    failure.hidden = false;
  }
  throw reason;
}

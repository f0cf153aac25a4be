#pragma once

// Eigen includes it with SSE instructions, of which emcc makes those of WebAssembly. It needs
// nothing of it.

// Put into the built program by tools/build.js: what `import.meta.url` is there. One file, so one
// for all modules.

import { pathToFileURL } from 'node:url';

export const __moduleUrl = pathToFileURL(__filename).href;

// Put into the built program by tools/build.js as the value of `import.meta.url`. The program is
// one file, so it has one value for all modules.

import { pathToFileURL } from 'node:url';

export const __moduleUrl = pathToFileURL(__filename).href;

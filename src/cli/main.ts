// The `cox` command, run from the sources: `tsx src/cli/main.ts up`.

import { runCox } from './cox.ts';

await runCox();

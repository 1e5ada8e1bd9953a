// Builds the programs of other versions that are missing: `npx tsx test/skew/build.ts`.

import { ensureSkewProgram, skewPrograms } from './programs.ts';

for (const { version, programs } of skewPrograms)
  for (const program of programs)
    ensureSkewProgram(version, program, (text) => void process.stderr.write(`${text}\n`));

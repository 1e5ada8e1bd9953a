// `npm run operators`: builds the programs that the tests of operators run. README.md beside this
// has the details.

import { UserError } from '#cluster/user-error.ts';
import { buildOperators } from './programs.ts';

try {
  buildOperators((text) => void process.stderr.write(`${text}\n`));
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  process.stderr.write(`operators: ${error.message}\n`);
  process.exitCode = 1;
}

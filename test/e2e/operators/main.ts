// `npm run operators`: builds the programs that the operator tests run. The README beside this file
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

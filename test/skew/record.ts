// `tsx test/skew/record.ts [NAME]`: keeps what this version stores, for all later ones. Run it once,
// at the release of a version. `NAME`: the name of the recording. Default: the version.

import { existsSync } from 'node:fs';
import packageJson from '../../package.json' with { type: 'json' };
import { recordStored } from './stored.ts';

const name = process.argv[2] ?? packageJson.version;
if (!/^\d+\.\d+\.\d+[\w.+-]*$/.test(name)) {
  process.stderr.write(`record: ${name} is no version\n`);
  process.exit(2);
}
if (existsSync(new URL(`stored/${name}`, import.meta.url))) {
  process.stderr.write(`record: ${name} is recorded; a recording is never made anew\n`);
  process.exit(1);
}
const { count, missing } = await recordStored(name);
process.stdout.write(`${name}: ${count} objects\n`);
if (missing.length > 0) {
  process.stderr.write(`there is no object of ${missing.join('; ')}\n`);
  process.exitCode = 1;
}

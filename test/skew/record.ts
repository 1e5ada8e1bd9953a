// `tsx test/skew/record.ts`: keeps what this version stores, for all later ones. Run it once, at
// the release of a version.

import packageJson from '../../package.json' with { type: 'json' };
import { recordStored } from './stored.ts';

const count = await recordStored(packageJson.version);
process.stdout.write(`${packageJson.version}: ${count} objects\n`);

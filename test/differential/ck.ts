import { Ours } from './ours.ts';
import { Reference } from './reference.ts';
import { compareCustomObjects } from './custom-objects.ts';
const ours = await Ours.start();
const theirs = new Reference('https://127.0.0.1:7443', 'admin-token');
let n = 0;
const only = process.argv.slice(2);
const sent = await compareCustomObjects(
  ours,
  theirs,
  (title, lines) => {
    n++;
    console.log(title.slice(0, 420));
    for (const l of lines) console.log('    ' + l.slice(0, 600));
  },
  only.length ? only : undefined,
);
console.log(`${sent} sent, ${n} different`);
theirs.close();
await ours.stop();
process.exit(0);

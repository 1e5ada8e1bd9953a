// `npm run tidy`: prints violations of the rules. `-- --all`: in exempt files, too. `-- PATH…`: in
// these files and folders, exempt or not. `-- --update`: removes the files from the list of exempt
// ones that pass. `-- --accept`: puts all that fail on the list, after a merge.

import { findViolations, problems, readExempt, repositoryFiles, writeExempt } from './check.ts';

const args = process.argv.slice(2);
const found = findViolations(repositoryFiles());
if (args.includes('--update') || args.includes('--accept')) {
  const count = writeExempt(found, args.includes('--accept'));
  process.stdout.write(`${count} exemptions\n`);
} else {
  const paths = args.filter((arg) => !arg.startsWith('--'));
  const chosen =
    paths.length === 0
      ? found
      : found.filter(({ path }) => paths.some((each) => path.startsWith(each)));
  const exempt = paths.length > 0 || args.includes('--all') ? new Set<string>() : readExempt();
  const lines = problems(chosen, exempt);
  process.stdout.write(lines.map((line) => `${line}\n`).join(''));
  process.exitCode = lines.length > 0 ? 1 : 0;
}

// `npm run nightly`: runs everything that `npm test` does not, one step after the other, and writes
// one page with what changed since the last run. A failing step does not end the run.

import { spawn, spawnSync } from 'node:child_process';
import { createWriteStream, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#machinery/clock.ts';
import { parseFlags } from '../flags.ts';
import { nightPage, readOutput, type Night, type StepResult } from './report.ts';
import { type Step, steps, shortSteps } from './steps.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const usage = `usage: npm run nightly -- [flags]
  --only REGEX    only steps whose name matches
  --short         the steps that have a short form, in that form: some minutes; nothing is recorded
  --list          print the steps and their commands, and end
  --output DIR    where the page, its data and the logs go (default .cache/nightly,
                  or .cache/nightly-short)

It takes a night on two cores, and needs a machine of its own: upstream's programs are built with Go, and
containers, network namespaces and etcd are used. What is missing fails its step.
`;

/** Runs a step to its end, with its output in a log. */
async function runStep(step: Step, output: string): Promise<StepResult> {
  const logFile = join(output, `${step.name.replaceAll(/\W+/g, '-')}.log`);
  const log = createWriteStream(logFile);
  const began = systemClock.monotonic();
  const child = spawn('npm', ['run', '--silent', ...step.command], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
  let isLate = false;
  const timer = systemClock.setTimer(step.minutes * 60_000, () => {
    isLate = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
  });
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  );
  timer.cancel();
  await new Promise<void>((resolve) => log.end(resolve));
  return {
    name: step.name,
    status: isLate ? undefined : (code ?? 1),
    seconds: Math.round((systemClock.monotonic() - began) / 1000),
    ...readOutput(readFileSync(logFile, 'utf8')),
  };
}

/** Ends the process if the text is no regular expression. */
function patternOf(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    process.stderr.write(`nightly: --only: ${(error as Error).message}\n`);
    process.exit(2);
  }
}

const flags = parseFlags('nightly', usage, {
  only: { type: 'string' },
  list: { type: 'boolean', default: false },
  short: { type: 'boolean', default: false },
  output: { type: 'string' },
});
const only = patternOf(flags.only ?? '');
const chosen = (flags.short ? shortSteps : steps).filter(({ name }) => only.test(name));
const output = flags.output ?? join(root, '.cache', flags.short ? 'nightly-short' : 'nightly');
if (chosen.length === 0) {
  process.stderr.write(`nightly: no step has a name that matches ${flags.only}\n`);
  process.exitCode = 2;
} else if (flags.list)
  for (const { name, command } of chosen)
    process.stdout.write(`${name}\tnpm run ${command.join(' ')}\n`);
else {
  mkdirSync(output, { recursive: true });
  const data = join(output, 'last.json');
  const page = join(output, 'nightly.md');
  const before = existsSync(data) ? (JSON.parse(readFileSync(data, 'utf8')) as Night) : undefined;
  const results: StepResult[] = [];
  const commit = spawnSync('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: root,
    encoding: 'utf8',
  });
  for (const step of chosen) {
    process.stderr.write(`${step.name} …\n`);
    const result = await runStep(step, output);
    results.push(result);
    const night: Night = {
      date: new Date(systemClock.now()).toISOString(),
      commit: commit.stdout.trim(),
      steps: results,
    };
    // Written after each step: a run that is interrupted has a page, too.
    writeFileSync(page, nightPage(night, before));
    if (results.length === chosen.length && flags.only === undefined)
      writeFileSync(data, JSON.stringify(night, undefined, 2));
  }
  process.stdout.write(readFileSync(page, 'utf8'));
  if (results.some(({ status }) => status !== 0)) process.exitCode = 1;
}

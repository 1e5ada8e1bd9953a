// Open files of processes.

import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { runSteps } from '#machinery/turn.ts';
import { processFiles } from '../node/process-files.ts';
import { countDescriptors, type ProcessFiles } from './descriptors.ts';

const fake = (processes: Readonly<Record<number, readonly string[]>>): ProcessFiles => ({
  open: (pid) => processes[pid]?.map((_, index) => String(index)),
  target: (pid, name) => processes[pid]?.[Number(name)],
  limits: (pid) => `Limit Soft Hard Units\nMax open files            ${pid * 100}  4096  files\n`,
});

test('files and sockets of all processes are counted, and the first one has the limit', () => {
  const processes = fake({ 5: ['/a', 'socket:[1]', 'pipe:[2]'], 9: ['socket:[3]'] });
  // One of them has ended.
  expect(runSteps(countDescriptors([9, 7, 5], processes))).toEqual({
    files: 4,
    sockets: 2,
    maxOpenFiles: 500,
  });
});

test('a container without processes has no files', () => {
  expect(runSteps(countDescriptors([], fake({})))).toEqual({ files: 0, sockets: 0 });
});

test('a container with very many files is counted without looking at each', () => {
  let looked = 0;
  const names = Array.from({ length: 1_000_000 }, (_, index) => String(index));
  const processes: ProcessFiles = {
    open: () => names,
    target: () => {
      looked++;
      return 'socket:[1]';
    },
    limits: () => 'Max open files  unlimited  unlimited  files',
  };
  expect(runSteps(countDescriptors([1], processes))).toEqual({
    files: 1_000_000,
    maxOpenFiles: Number.POSITIVE_INFINITY,
  });
  expect(looked).toBe(0);
});

test.skipIf(process.platform !== 'linux')('of this process', async () => {
  const count = (): number =>
    runSteps(countDescriptors([process.pid], processFiles())).sockets ?? -1;
  const before = count();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  expect(count()).toBeGreaterThan(before);
  server.close();
  expect(processFiles().open(2 ** 30)).toBeUndefined();
});

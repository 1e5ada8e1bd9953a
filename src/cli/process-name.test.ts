import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { silentLogger } from '#machinery/log.ts';
import { nameProcess } from './process-name.ts';

const COMM = '/proc/self/comm';
const isLinux = process.platform === 'linux';
const before = isLinux ? readFileSync(COMM, 'utf8').trim() : '';
afterAll(() => {
  if (isLinux) writeFileSync(COMM, before);
});

test.runIf(isLinux)('a process is named, and keeps its command line', () => {
  const commandLine = readFileSync('/proc/self/cmdline', 'utf8');
  nameProcess('kube-controller-manager', silentLogger);
  expect(readFileSync(COMM, 'utf8')).toBe('kube-controller\n');
  expect(readFileSync('/proc/self/cmdline', 'utf8')).toBe(commandLine);
});

test.runIf(isLinux)('without /proc the process keeps its name, and goes on', () => {
  const said: string[] = [];
  const logger = { ...silentLogger, debug: (message: string) => void said.push(message) };
  nameProcess('kubelet', logger, '/does/not/exist');
  expect(said).toEqual(['the process keeps its name']);
});

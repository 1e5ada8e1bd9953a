// What `npm pack` puts into the package works where it is installed, with nothing of the source tree: the command and the import.

import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const run = promisify(execFile);

let folder: string;
let installed: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'coxswain-package-'));
  installed = join(folder, 'node_modules', 'coxswain');
  const told = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [{ filename }] = JSON.parse(told) as [{ filename: string }];
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, filename), '-C', installed, '--strip-components=1']);
  // The one dependency that is not in the program; npm would install it here.
  mkdirSync(join(folder, 'node_modules', '@photostructure'));
  const sqlite = join('node_modules', '@photostructure', 'sqlite');
  symlinkSync(join(root, sqlite), join(folder, sqlite));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const compiled = (): string[] => readdirSync(join(installed, 'dist')).filter((name) => name.endsWith('.compiled'));
const node = async (...args: string[]): Promise<string> => (await run(process.execPath, args, { cwd: folder })).stdout;

/** Starts a cluster, waits until it is ready, stops it. Answers what it said. */
async function upAndDown(...flags: string[]): Promise<string> {
  const cox = join(installed, 'bin', 'cox.js');
  const args = [
    cox,
    'up',
    '--quiet',
    '--secure-port',
    '0',
    '--runtime',
    'simulated',
    '--data-dir',
    join(folder, 'data'),
    ...flags,
  ];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('cluster ready')) child.kill('SIGTERM');
    });
  }
  const [status] = (await once(child, 'close')) as [number | null];
  return `${text}status ${status}`;
}

const READY = /^cluster ready in [\d.]+ s\nstatus 0$/;

describe('the package as it is published', () => {
  test('gives the embedding API, and writes nothing', async () => {
    const program = `
      import { startCluster, scheduling } from 'coxswain';
      const cluster = await startCluster({ nodes: 2 });
      const applied = await cluster.apply('apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: a}\\ndata: {b: c}');
      console.log(applied[0].metadata.namespace, typeof scheduling);
      await cluster.stop();`;
    expect(await node('--input-type=module', '--eval', program)).toBe('default object\n');
    expect(compiled()).toEqual([]);
  });

  test('can be had by require, too', async () => {
    expect(await node('--eval', "console.log(typeof require('coxswain').startCluster)")).toBe('function\n');
  });

  test('exports by name all that the embedding API has', async () => {
    const names = await node('--input-type=module', '--eval', "console.log(Object.keys(await import('coxswain')).join())");
    const source = readFileSync(join(root, 'src', 'cluster', 'index.ts'), 'utf8');
    const exported = [...source.matchAll(/^export (?:\* as|(?:async )?function|const|class) (\w+)/gm)].map(([, name]) => name);
    expect(names.trim().split(',')).toEqual([...new Set(exported)].toSorted());
  });

  test('shows the places of errors in the sources, if Node is asked to', async () => {
    const program = "(await import('coxswain')).startCluster({ podCidr: 'none' }).catch((err) => console.log(err.stack))";
    expect(await node('--input-type=module', '--eval', program)).toMatch(/dist\/program\.js:\d+:\d+/);
    const mapped = await node('--enable-source-maps', '--input-type=module', '--eval', program);
    expect(mapped).toMatch(/src\/cluster\/network-ranges\.ts:\d+:\d+/);
  });

  test('starts clusters, keeps what it compiled for the next one, and stores what is durable', async () => {
    expect(await upAndDown('--store', 'embedded')).toMatch(READY);
    expect(compiled()).toHaveLength(1);
    expect(await upAndDown('--store', 'embedded')).toMatch(READY);
    expect(compiled()).toHaveLength(1);
  });

  test('compiles ahead of time for the flags that Node has, and for none', async () => {
    rmSync(join(installed, 'dist', compiled()[0] as string));
    const told = await node('--max-semi-space-size=64', join(installed, 'bin', 'cox.js'), 'compile');
    expect(told.match(/^compiled: .*\/dist\/program-[0-9a-f]{8}\.compiled$/gm)).toHaveLength(2);
    expect(compiled()).toHaveLength(2);
  });
});

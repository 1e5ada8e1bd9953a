// The package from `npm pack` works where it is installed, without the source tree: the command and
// the import.

import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiReport, REPORT } from '../../tools/api-report.js';
import { emitDeclarations } from '../../tools/declarations.js';
import { exportsField, packageExports } from '../../tools/package-exports.js';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const run = promisify(execFile);

let folder: string;
let installed: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'coxswain-package-'));
  installed = join(folder, 'node_modules', 'coxswain');
  // `npm test` checks the types, and builds without declarations.
  const types = join(root, 'dist', 'types');
  if (!existsSync(types)) emitDeclarations(types, { areChecked: true });
  const output = execFileSync(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', folder],
    {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const [{ filename }] = JSON.parse(output) as [{ filename: string }];
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, filename), '-C', installed, '--strip-components=1']);
  // Copies the one dependency, Node's types for compilers, and the commands, as npm would install
  // them.
  for (const name of ['@photostructure/sqlite', '@types/node', 'undici-types']) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }
  mkdirSync(join(folder, 'node_modules', '.bin'));
  symlinkSync(join(installed, 'bin', 'cox.js'), join(folder, 'node_modules', '.bin', 'cox'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const compiled = (): string[] =>
  readdirSync(join(installed, 'dist')).filter((name) => name.endsWith('.compiled'));
/** Returns the output of a program that writes no errors, nor warnings of Node. */
async function node(...args: string[]): Promise<string> {
  const { stdout, stderr } = await run(process.execPath, args, { cwd: folder });
  expect(stderr).toBe('');
  return stdout;
}

/** Starts a cluster, waits until it is ready, and stops it. Returns its output. */
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
  test('runs clusters inside a program, and writes no files', async () => {
    const program = `
      import { startCluster } from 'coxswain';
      import { configMaps } from 'coxswain/api/core/v1';
      import { errors } from 'coxswain/client';
      const cluster = await startCluster({ nodes: 2 });
      const applied = await cluster.apply('apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: a}\\ndata: {b: c}');
      const { data } = await cluster.get(configMaps, 'a');
      const error = await cluster.get(configMaps, 'none').catch((error) => error);
      console.log(applied[0].metadata.namespace, data.b, error instanceof errors.StatusError, errors.isNotFound(error));
      await cluster.stop();`;
    expect(await node('--input-type=module', '--eval', program)).toBe('default c true true\n');
    expect(compiled()).toEqual([]);
  });

  test('can be loaded by require, and is the same module as for import', async () => {
    const program = `
      const client = require('coxswain/client');
      import('coxswain/client').then((module) =>
        console.log(client.errors === module.errors, typeof require('coxswain').startCluster));`;
    expect(await node('--eval', program)).toBe('true function\n');
  });

  test('has the entries of package.json, and no others can be imported', async () => {
    const { exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
      exports: unknown;
    };
    expect(exports).toEqual(exportsField());
    for (const { file, types } of Object.values(packageExports())) {
      for (const path of [file, types]) expect(existsSync(join(installed, path)), path).toBe(true);
    }
    const names = Object.keys(packageExports()).map((subpath) => `coxswain${subpath.slice(1)}`);
    const program = `
      for (const name of ${JSON.stringify(names)}) await import(name);
      for (const name of ['dist/program.js', 'dist/types/cluster/cluster.js', 'api/core/v1/types', \
'src/cluster/index.ts'])
        await import('coxswain/' + name).then(() => console.log(name), (error) => console.log(error.code));`;
    expect(await node('--input-type=module', '--eval', program)).toBe(
      'ERR_PACKAGE_PATH_NOT_EXPORTED\n'.repeat(4),
    );
  });

  test('has declarations that strict compilers accept, for ES modules and CommonJS', async () => {
    const names = Object.keys(packageExports()).map((subpath) => `coxswain${subpath.slice(1)}`);
    const imports = names
      .map(
        (name, index) => `import * as entry${index} from '${name}';\nexport { entry${index} };\n`,
      )
      .join('');
    const use = `
import { startCluster, type EmbeddedCluster } from 'coxswain';
import { deployments, type Deployment } from 'coxswain/api/apps/v1';
import type { New } from 'coxswain/api/meta/v1';
export const web: New<Deployment> = { metadata: { name: 'web' }, spec: { replicas: 2 } };
// @ts-expect-error A field that does not exist.
export const wrong: New<Deployment> = { spec: { replica: 2 } };
export const run = async (): Promise<number | undefined> => {
  const cluster: EmbeddedCluster = await startCluster();
  const { spec, status } = await cluster.get(deployments, 'web');
  // @ts-expect-error Objects that were read are immutable.
  spec.replicas = 3;
  return status.readyReplicas;
};
`;
    writeFileSync(join(folder, 'use.mts'), imports + use);
    writeFileSync(join(folder, 'use.cts'), imports + use);
    const options = {
      strict: true,
      skipLibCheck: false,
      noEmit: true,
      exactOptionalPropertyTypes: true,
    };
    const compilerOptions = {
      ...options,
      module: 'nodenext',
      target: 'es2023',
      lib: ['es2023'],
      types: ['node'],
    };
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['use.mts', 'use.cts'] }),
    );
    const { stdout } = await run(join(root, 'node_modules', '.bin', 'tsc'), ['-p', folder]).catch(
      (error: { stdout: string }) => error,
    );
    expect(stdout).toBe('');
  });

  test('has the surface that docs/api-report.md shows (otherwise: npm run api-report)', () => {
    const types = join(installed, 'dist', 'types');
    const paths = readdirSync(types, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.d.ts'),
    );
    const declarations = new Map(
      paths.toSorted().map((path) => [path, readFileSync(join(types, path), 'utf8')]),
    );
    expect(apiReport(declarations)).toBe(readFileSync(REPORT, 'utf8'));
  });

  test('has source maps with sources, and the licences of bundled packages', () => {
    const dist = join(installed, 'dist');
    const map = JSON.parse(readFileSync(join(dist, 'program.js.map'), 'utf8')) as {
      sources: string[];
      sourcesContent?: string[];
    };
    expect(map.sourcesContent).toHaveLength(map.sources.length);
    expect(readFileSync(join(dist, 'THIRD-PARTY-LICENCES.txt'), 'utf8')).toMatch(/^commander \d/m);
  });

  test('installs the command', async () => {
    const cox = join(folder, 'node_modules', '.bin', 'cox');
    const { stdout } = await run(cox, ['version'], { cwd: folder });
    expect(stdout).toMatch(/^coxswain 0\.1\.0\nKubernetes v1\.36\.3\n/);
  });

  test("shows the places of errors in the sources, with Node's flag for that", async () => {
    const program =
      "(await import('coxswain')).startCluster({ podCidr: 'none' }).catch((err) => console.log(err.stack))";
    expect(await node('--input-type=module', '--eval', program)).toMatch(
      /dist\/program\.js:\d+:\d+/,
    );
    const mapped = await node('--enable-source-maps', '--input-type=module', '--eval', program);
    expect(mapped).toMatch(/src\/cluster\/flags\/network-ranges\.ts:\d+:\d+/);
  });

  test('starts clusters, keeps the compiled code for the next one, and stores data durably', async () => {
    expect(await upAndDown('--store', 'embedded')).toMatch(READY);
    expect(compiled()).toHaveLength(1);
    expect(await upAndDown('--store', 'embedded')).toMatch(READY);
    expect(compiled()).toHaveLength(1);
  });

  test('compiles ahead of time for the flags of bin/cox.js, and for no flags', async () => {
    rmSync(join(installed, 'dist', compiled()[0]!));
    const output = await node(
      '--max-semi-space-size=64',
      join(installed, 'bin', 'cox.js'),
      'compile',
    );
    const files = output.match(/^compiled: .*\/dist\/program-[0-9a-f]{8}\.compiled$/gm);
    expect(files).toHaveLength(2);
    // Since Node 24, compiled code does not depend on this flag.
    expect(compiled()).toHaveLength(new Set(files).size);
  });
});

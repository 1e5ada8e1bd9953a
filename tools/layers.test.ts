// Who may import whom (docs/ARCHITECTURE.md, "Layers"). Reads import lines as text: quick, and the message names the way out.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const source = join(dirname(dirname(fileURLToPath(import.meta.url))), 'src');

/** A layer and the layers that it may import, itself apart. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  machinery: [],
  cel: ['machinery'],
  api: ['machinery', 'cel'],
  storage: ['machinery'],
  cri: ['machinery'],
  client: ['machinery', 'api'],
  apiserver: ['machinery', 'cel', 'api', 'storage', 'client'],
  controllers: ['machinery', 'api', 'client'],
  scheduler: ['machinery', 'cel', 'api', 'client'],
  proxy: ['machinery', 'api', 'client'],
  dns: ['machinery', 'api', 'client'],
  network: ['machinery', 'api', 'client'],
  kubelet: ['machinery', 'api', 'client', 'cri'],
  runtime: ['machinery', 'cri'],
  cluster: [
    'machinery',
    'cel',
    'api',
    'storage',
    'cri',
    'client',
    'apiserver',
    'controllers',
    'scheduler',
    'proxy',
    'dns',
    'network',
    'kubelet',
    'runtime',
  ],
  cli: ['machinery', 'api', 'client', 'cluster'],
};

/**
 * Within a layer: a folder and the other folders of the layer that it may import. Files at the root of the layer may be imported by all
 * folders, and import all. Folders that are not listed have no rules yet.
 */
const ALLOWED_FOLDERS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  apiserver: {
    tables: [],
    registry: ['tables'],
    catalog: ['registry', 'tables'],
    authentication: ['catalog'],
    authorization: ['catalog'],
    'node-proxy': ['catalog', 'endpoints'],
    'endpoint-proxy': ['catalog', 'node-proxy'],
    kinds: ['catalog', 'registry', 'tables', 'authentication', 'authorization', 'node-proxy', 'endpoint-proxy'],
  },
};

/** Tests may put layers together from below: a controller's test drives a real API server. Only these may be reached in addition. */
const ALLOWED_IN_TESTS = ['apiserver', 'storage', 'client', 'runtime', 'cluster', 'controllers', 'scheduler'];

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s+['"]([.#][^'"]+)['"]|import\(\s*['"]([.#][^'"]+)['"]\s*\)|(?:^|\n)import\s+['"]([.#][^'"]+)['"]/g;

function* importsOf(file: string): Generator<string> {
  for (const match of readFileSync(file, 'utf8').matchAll(IMPORT)) yield (match[1] ?? match[2] ?? match[3]) as string;
}

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => join(source, file));

/** The file that an import names: `#` stands for src/. */
const resolveImport = (file: string, specifier: string): string =>
  specifier.startsWith('#') ? join(source, specifier.slice(1)) : resolve(dirname(file), specifier);

const layerOf = (file: string): string => relative(source, file).split('/')[0] as string;

describe('layers', () => {
  test('every folder of src/ is a layer with rules', () => {
    expect([...new Set(files.map(layerOf))].filter((layer) => !(layer in ALLOWED))).toEqual([]);
  });

  test('imports go only where the layer may go', () => {
    const wrong: string[] = [];
    for (const file of files) {
      const from = layerOf(file);
      // Conformance suites and test helpers count as tests: nothing that ships imports them.
      const isTest = /\.test\.ts$|\/testing\/|\/conformance\.ts$/.test(file);
      for (const specifier of importsOf(file)) {
        const to = layerOf(resolveImport(file, specifier));
        if (to === from || ALLOWED[from]?.includes(to) || (isTest && ALLOWED_IN_TESTS.includes(to))) continue;
        wrong.push(
          `${relative(source, file)} imports ${specifier}: ${from} may import only ${ALLOWED[from]?.join(', ') || 'nothing'}. ` +
            `Move what is shared down (machinery, api), or hand it in through the Config from cluster/.`,
        );
      }
    }
    expect(wrong).toEqual([]);
  });

  test('api/machinery knows no group: what is made of all groups is put together at the root of api/', () => {
    const machinery = join(source, 'api/machinery');
    const wrong = files
      .filter((file) => file.startsWith(`${machinery}/`) && !file.endsWith('.test.ts'))
      .flatMap((file) => [...importsOf(file)].map((specifier) => [file, resolveImport(file, specifier)] as const))
      .filter(([, imported]) => imported.startsWith(join(source, 'api/')) && !imported.startsWith(`${machinery}/`))
      .map(([file, imported]) => `${relative(source, file)} imports ${relative(source, imported)}`);
    expect(wrong).toEqual([]);
  });

  test('folders of a layer import only the folders that they may', () => {
    const wrong: string[] = [];
    for (const file of files) {
      if (/\.test\.ts$|\/testing\//.test(file)) continue;
      const [layer = '', from = ''] = relative(source, file).split('/');
      const allowed = ALLOWED_FOLDERS[layer]?.[from];
      if (allowed === undefined) continue;
      for (const specifier of importsOf(file)) {
        const [toLayer, to = '', inFolder] = relative(source, resolveImport(file, specifier)).split('/');
        if (toLayer !== layer || inFolder === undefined || to === from || allowed.includes(to)) continue;
        wrong.push(
          `${relative(source, file)} imports ${specifier}: ${layer}/${from} may import only ${allowed.join(', ') || 'nothing'} of its layer. ` +
            `Move what is shared down, or take it through an interface that the folder declares itself.`,
        );
      }
    }
    expect(wrong).toEqual([]);
  });

  test('time and randomness come only from machinery/clock.ts and machinery/random.ts', () => {
    const wrong: string[] = [];
    for (const file of files) {
      if (/\.test\.ts$|\/testing\/|machinery\/(clock|random)\.ts$/.test(file)) continue;
      const lines = readFileSync(file, 'utf8').split('\n');
      lines.forEach((line, index) => {
        if (/^\s*(\/\/|\*)/.test(line)) return;
        if (
          /\b(Date\.now\(|new Date\(\)|setTimeout\(|setInterval\(|Math\.random\(|randomUUID\(|performance\.now\()/.test(
            line.replace(/\.(setTimeout|setInterval)\(/g, ''),
          )
        ) {
          wrong.push(`${relative(source, file)}:${index + 1}: take a Clock or a Random from the Config instead: ${line.trim()}`);
        }
      });
    }
    expect(wrong).toEqual([]);
  });
});

// Checks the allowed imports between layers (docs/ARCHITECTURE.md, "Layers"). Reads import lines as
// text: this is quick, and the message names a solution.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const source = join(dirname(dirname(fileURLToPath(import.meta.url))), 'src');

/** Each layer, with the other layers that it may import. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  machinery: [],
  cel: ['machinery'],
  api: ['machinery', 'cel'],
  storage: ['machinery'],
  cri: ['machinery'],
  csi: ['machinery'],
  client: ['machinery', 'api'],
  apiserver: ['machinery', 'cel', 'api', 'storage', 'client'],
  controllers: ['machinery', 'api', 'client', 'csi'],
  scheduler: ['machinery', 'cel', 'api', 'client'],
  proxy: ['machinery', 'api', 'client'],
  dns: ['machinery', 'api', 'client'],
  network: ['machinery', 'api', 'client'],
  ingress: ['machinery', 'api', 'client'],
  kubelet: ['machinery', 'api', 'client', 'cri', 'csi'],
  console: ['machinery', 'api', 'client'],
  runtime: ['machinery', 'cri'],
  'csi-driver': ['machinery', 'csi'],
  simulation: ['machinery', 'api', 'storage', 'client', 'apiserver', 'controllers'],
  cluster: [
    'machinery',
    'cel',
    'api',
    'storage',
    'cri',
    'csi',
    'csi-driver',
    'client',
    'apiserver',
    'controllers',
    'scheduler',
    'proxy',
    'dns',
    'network',
    'ingress',
    'console',
    'kubelet',
    'runtime',
    'simulation',
  ],
  cli: ['machinery', 'api', 'client', 'cluster'],
  exports: ['machinery', 'api', 'client', 'controllers', 'scheduler', 'simulation', 'cluster'],
};

/**
 * Tests may combine layers from below: a controller's test drives a real API server. Only these
 * layers are allowed in addition.
 */
const ALLOWED_IN_TESTS = [
  'apiserver',
  'storage',
  'client',
  'runtime',
  'cluster',
  'controllers',
  'scheduler',
  'simulation',
];

const IMPORT = new RegExp(
  [
    /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s+['"]([.#][^'"]+)['"]/,
    /import\(\s*['"]([.#][^'"]+)['"]\s*\)/,
    /(?:^|\n)import\s+['"]([.#][^'"]+)['"]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);

function* importsOf(file: string): Generator<string> {
  for (const match of readFileSync(file, 'utf8').matchAll(IMPORT))
    yield (match[1] ?? match[2] ?? match[3]) as string;
}

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => join(source, file));

/** Returns the file that an import names: `#` stands for src/. */
const resolveImport = (file: string, specifier: string): string =>
  specifier.startsWith('#') ? join(source, specifier.slice(1)) : resolve(dirname(file), specifier);

const layerOf = (file: string): string => relative(source, file).split('/')[0]!;

/**
 * Returns whether the file is a test. Conformance suites and files that only tests use count as
 * tests: product files do not import them.
 */
const isTest = (file: string): boolean => /\.test\.ts$|\/testing\/|\/conformance\.ts$/.test(file);

/** Imports by the importing folder and the imported folder. */
type FolderImports = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

/**
 * Returns the imports between the immediate folders of a layer. Files at the root of the layer have
 * no rules.
 */
function folderImports(layer: string): FolderImports {
  const graph = new Map<string, Map<string, string[]>>();
  for (const file of files) {
    const [inLayer, from = '', inFolder] = relative(source, file).split('/');
    if (inLayer !== layer || inFolder === undefined || isTest(file)) continue;
    for (const specifier of importsOf(file)) {
      const imported = relative(source, resolveImport(file, specifier));
      const [toLayer, to = '', toFile] = imported.split('/');
      if (toLayer !== layer || toFile === undefined || to === from) continue;
      const targets = graph.get(from) ?? new Map<string, string[]>();
      graph.set(
        from,
        targets.set(to, [
          ...(targets.get(to) ?? []),
          `${relative(source, file)} imports ${imported}`,
        ]),
      );
    }
  }
  return graph;
}

/**
 * Returns a shortest cycle through each folder that is on one; each cycle once, beginning with the
 * first of its folders by name.
 */
function cyclesOf(graph: FolderImports): string[][] {
  const cycles = new Map<string, string[]>();
  for (const start of [...graph.keys()].sort()) {
    const cycle = shortestCycle(graph, start);
    if (cycle === undefined) continue;
    const first = cycle.indexOf([...cycle].sort()[0]!);
    const rotated = [...cycle.slice(first), ...cycle.slice(0, first)];
    cycles.set(rotated.join(), rotated);
  }
  return [...cycles.values()];
}

function shortestCycle(graph: FolderImports, start: string): string[] | undefined {
  const queue: string[][] = [[start]];
  const seen = new Set<string>();
  for (const path of queue) {
    for (const next of graph.get(path.at(-1)!)?.keys() ?? []) {
      if (next === start) return path;
      if (seen.has(next)) continue;
      seen.add(next);
      queue.push([...path, next]);
    }
  }
  return undefined;
}

describe('cyclesOf', () => {
  const graphOf = (imports: Readonly<Record<string, readonly string[]>>): FolderImports =>
    new Map(
      Object.entries(imports).map(([from, targets]) => [
        from,
        new Map(targets.map((to) => [to, []])),
      ]),
    );

  test('two folders that import each other', () => {
    expect(cyclesOf(graphOf({ b: ['a', 'c'], a: ['b'], c: [] }))).toEqual([['a', 'b']]);
  });

  test('a cycle through three folders', () => {
    expect(cyclesOf(graphOf({ d: ['a'], c: ['a'], a: ['b'], b: ['c'] }))).toEqual([
      ['a', 'b', 'c'],
    ]);
  });

  test('no cycle', () => {
    expect(cyclesOf(graphOf({ a: ['b', 'c'], b: ['c'], c: [] }))).toEqual([]);
  });
});

describe('layers', () => {
  test('every folder of src/ is a layer with rules', () => {
    expect([...new Set(files.map(layerOf))].filter((layer) => !(layer in ALLOWED))).toEqual([]);
  });

  test('imports go only where the layer may go', () => {
    const wrong: string[] = [];
    for (const file of files) {
      const from = layerOf(file);
      for (const specifier of importsOf(file)) {
        const to = layerOf(resolveImport(file, specifier));
        if (
          to === from ||
          ALLOWED[from]?.includes(to) ||
          (isTest(file) && ALLOWED_IN_TESTS.includes(to))
        )
          continue;
        wrong.push(
          `${relative(source, file)} imports ${specifier}: ${from} may import only ` +
            `${ALLOWED[from]?.join(', ') || 'nothing'}. ` +
            `Move what is shared down (machinery, api), or hand it in through the Config from cluster/.`,
        );
      }
    }
    expect(wrong).toEqual([]);
  });

  test('api/machinery does not import groups: the root of api/ combines all groups', () => {
    const machinery = join(source, 'api/machinery');
    const wrong = files
      .filter((file) => file.startsWith(`${machinery}/`) && !file.endsWith('.test.ts'))
      .flatMap((file) =>
        [...importsOf(file)].map((specifier) => [file, resolveImport(file, specifier)] as const),
      )
      .filter(
        ([, imported]) =>
          imported.startsWith(join(source, 'api/')) && !imported.startsWith(`${machinery}/`),
      )
      .map(([file, imported]) => `${relative(source, file)} imports ${relative(source, imported)}`);
    expect(wrong).toEqual([]);
  });

  test('folders of a layer point one way: no cycle of imports between them', () => {
    const wrong: string[] = [];
    for (const layer of Object.keys(ALLOWED)) {
      const graph = folderImports(layer);
      for (const cycle of cyclesOf(graph)) {
        const edges = cycle.map(
          (from, index) => graph.get(from)?.get(cycle[(index + 1) % cycle.length]!) ?? [],
        );
        const smallest = edges.reduce((least, imports) =>
          imports.length < least.length ? imports : least,
        );
        wrong.push(
          `${layer}: ${[...cycle, cycle[0]].join(' -> ')}. The fewest imports of the cycle ` +
            `are: ${smallest.join('; ')}. ` +
            'Move what is shared down, or to the root of the layer, or declare an interface ' +
            'in the folder that uses it.',
        );
      }
    }
    expect(wrong).toEqual([]);
  });
});

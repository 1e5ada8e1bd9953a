// Bundles src/ into dist/ with esbuild, and compiles it ahead of time (tools/program/README.md says what is then in dist/ and why).
// With --types it also emits declarations for the embedding API; --out DIR writes elsewhere, to compare two builds.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const outFlag = process.argv.indexOf('--out');
const out = outFlag === -1 ? join(root, 'dist') : resolve(process.argv[outFlag + 1]);
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const options = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20',
  // The ES module form of a dependency where it has one: its unused parts go away, and `import()` of it gives its names.
  mainFields: ['module', 'main'],
  minifySyntax: true,
  minifyWhitespace: true,
  keepNames: false,
  sourcemap: 'linked',
  sourcesContent: false,
  logLevel: 'warning',
  legalComments: 'none',
  // Native prebuilds are found relative to the package, so it stays outside the bundle.
  external: ['@photostructure/sqlite', 'node:sqlite'],
};

/** Large dependencies that many a cluster never needs, and files of their own: what is in the program is parsed at every start. */
const SELDOM = {
  '@grpc/grpc-js': 'grpc-js.cjs',
  '@grpc/proto-loader': 'proto-loader.cjs',
  '@peculiar/x509': 'x509.cjs',
  jose: 'jose.cjs',
};

/** Where they are imported, the files are; all of them are in one folder. */
const seldomApart = {
  name: 'seldom-apart',
  setup({ onResolve }) {
    onResolve({ filter: /^(@grpc|@peculiar|jose)/ }, ({ path, kind }) =>
      kind === 'entry-point' || SELDOM[path] === undefined ? undefined : { path: `./${SELDOM[path]}`, external: true },
    );
  },
};

const buildSeldom = () =>
  Promise.all(
    Object.entries(SELDOM).map(([entry, file]) =>
      build({ ...options, format: 'cjs', outfile: join(out, file), entryPoints: [entry], plugins: [seldomApart] }),
    ),
  );

/** The program: the text of a function, as tools/program/load.ts calls it. */
async function buildProgram() {
  const { outputFiles } = await build({
    ...options,
    format: 'cjs',
    outfile: join(out, 'program.js'),
    entryPoints: ['tools/program/program.ts'],
    banner: { js: '(function(exports,require,module,__filename,__dirname){' },
    footer: { js: '})' },
    define: { 'import.meta.url': '__moduleUrl' },
    inject: ['tools/program/module-url.js'],
    // What is outside the bundle comes by `require`, too.
    supported: { 'dynamic-import': false },
    plugins: [seldomApart],
    write: false,
  });
  for (const { path, text } of outputFiles) {
    // esbuild leaves other characters only where an escape means the same: in regular expressions.
    writeFileSync(path, path.endsWith('.map') ? text : text.replaceAll(/[^\0-\x7f]/g, escaped));
  }
}

const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** What Node loads by itself. */
const buildEntries = () =>
  build({
    ...options,
    format: 'esm',
    outdir: out,
    entryPoints: {
      cox: 'tools/program/cox.ts',
      index: 'tools/program/index.ts',
      'components-thread': 'tools/program/components-thread.ts',
      // A worker's entry is loaded by its own URL: nothing shared, so that it stays one small file.
      'storage-worker': 'src/storage/embedded/worker.ts',
      'yaml-worker': 'src/apiserver/endpoints/yaml-worker.ts',
    },
    // CommonJS dependencies inside an ES module bundle need a `require`.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  });

/** For the flags that bin/cox.js gives to Node, and for none. Without it the program works just as well, only later. */
function compile() {
  const flags = /^#!\S+ -S node (.*)$/m.exec(readFileSync(join(root, 'bin', 'cox.js'), 'utf8'))[1].split(' ');
  const { status } = spawnSync(process.execPath, [...flags, join(out, 'cox.js'), 'compile'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    // Flags in there would make it something that nobody asks for.
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  if (status !== 0) process.stderr.write('coxswain: it could not be compiled ahead of time, and will start later\n');
}

await Promise.all([buildProgram(), buildSeldom(), buildEntries()]);
compile();

if (process.argv.includes('--types')) {
  const result = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', 'tsconfig.types.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (result.status !== 0) process.exit(result.status ?? 1);
}

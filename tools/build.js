// Bundles src/ into dist/ with esbuild, and compiles it ahead of time (tools/program/README.md
// describes the files of dist/). With --types it also emits declarations of the public entries;
// --out DIR writes elsewhere, to compare two builds.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { buildConsole } from './console.js';
import { emitDeclarations } from './declarations.js';
import { packageExports } from './package-exports.js';

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
  // Prefers the ES module form of a dependency: its unused parts are left out, and `import()` of it
  // gives its names.
  mainFields: ['module', 'main'],
  minifySyntax: true,
  minifyWhitespace: true,
  keepNames: false,
  sourcemap: 'linked',
  logLevel: 'warning',
  // Licences are in a file of their own.
  legalComments: 'none',
  metafile: true,
  // Native prebuilds are found relative to the package, so the package stays outside the bundle.
  external: ['@photostructure/sqlite', 'node:sqlite'],
};

/**
 * Large dependencies that most clusters never load are files of their own: the program is parsed at
 * every start.
 */
const SELDOM = {
  '@grpc/grpc-js': 'grpc-js.cjs',
  '@grpc/proto-loader': 'proto-loader.cjs',
  '@peculiar/x509': 'x509.cjs',
  jose: 'jose.cjs',
};

/** Resolves their imports to files beside the program; all of them are in one folder. */
const seldomApart = {
  name: 'seldom-apart',
  setup({ onResolve }) {
    onResolve({ filter: /^(@grpc|@peculiar|jose)/ }, ({ path, kind }) =>
      kind === 'entry-point' || SELDOM[path] === undefined
        ? undefined
        : { path: `./${SELDOM[path]}`, external: true },
    );
  },
};

const buildSeldom = () =>
  Object.entries(SELDOM).map(([entry, file]) =>
    build({
      ...options,
      format: 'cjs',
      outfile: join(out, file),
      entryPoints: [entry],
      plugins: [seldomApart],
    }),
  );

/** Builds the program: the text of a function, as tools/program/load.ts calls it. */
async function buildProgram() {
  const { outputFiles, metafile } = await build({
    ...options,
    format: 'cjs',
    outfile: join(out, 'program.js'),
    entryPoints: ['tools/program/program.ts'],
    banner: { js: '(function(exports,require,module,__filename,__dirname){' },
    footer: { js: '})' },
    define: { 'import.meta.url': '__moduleUrl' },
    inject: ['tools/program/module-url.js'],
    // Modules outside the bundle are loaded by `require`, too.
    supported: { 'dynamic-import': false },
    plugins: [seldomApart],
    write: false,
  });
  for (const { path, text } of outputFiles) {
    // esbuild leaves other characters only where an escape means the same: in regular expressions.
    writeFileSync(path, path.endsWith('.map') ? text : text.replaceAll(/[^\0-\x7f]/g, escaped));
  }
  return metafile;
}

const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Builds the files that Node loads by itself. */
const buildEntries = () =>
  build({
    ...options,
    format: 'esm',
    outdir: out,
    entryPoints: {
      cox: 'tools/program/cox.ts',
      entries: 'tools/program/entries.ts',
      'components-thread': 'tools/program/components-thread.ts',
      'api-worker': 'tools/program/api-worker.ts',
      // A worker's entry is loaded by its own URL. It shares no code, so that it stays one small
      // file.
      'storage-worker': 'src/storage/embedded/worker.ts',
      'yaml-worker': 'src/apiserver/endpoints/yaml-worker.ts',
    },
    // CommonJS dependencies inside an ES module bundle need a `require`.
    banner: {
      js:
        "import { createRequire as __createRequire } from 'node:module'; const require = " +
        '__createRequire(import.meta.url);',
    },
  });

/**
 * Builds the resource constants alone. They are small, so programs that need nothing else do not
 * load the program.
 */
const buildApi = () =>
  build({
    ...options,
    format: 'esm',
    outdir: out,
    entryPoints: Object.fromEntries(
      Object.values(packageExports())
        .filter(({ source }) => source.startsWith('src/api/'))
        .map(({ source, file }) => [file.slice('dist/'.length, -'.js'.length), source]),
    ),
    sourcemap: false,
  });

/**
 * Writes the entries of the package. Their names are written down, because an ES module has to name
 * its exports.
 */
async function writeEntries() {
  const { entry } = await import(pathToFileURL(join(out, 'entries.js')).href);
  for (const { source, file } of Object.values(packageExports())) {
    if (!source.startsWith('src/exports/')) continue;
    const name = file.slice('dist/'.length, -'.js'.length);
    const names = Object.keys(entry(name)).sort();
    const text =
      "import { entry } from './entries.js';\n\nexport const {\n" +
      `${names.map((each) => `  ${each},\n`).join('')}} = entry('${name}');\n`;
    writeFileSync(join(out, `${name}.js`), text);
  }
}

/** Writes the licences of the bundled packages, as they require. */
function writeLicences(metafiles) {
  const packages = new Set();
  for (const { inputs } of metafiles) {
    for (const input of Object.keys(inputs)) {
      const match = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
      if (match !== null) packages.add(match[0]);
    }
  }
  const texts = [...packages].sort().map((path) => {
    const folder = join(root, path);
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    );
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    const notice = readdirSync(folder).find((each) => /^notice/i.test(each));
    const parts = [file, notice]
      .filter(Boolean)
      .map((each) => readFileSync(join(folder, each), 'utf8').trim());
    return `${name} ${version} (${license})\n\n${parts.join('\n\n')}\n`;
  });
  const rule = `\n${'-'.repeat(78)}\n\n`;
  writeFileSync(
    join(out, 'THIRD-PARTY-LICENCES.txt'),
    `This package contains the following software.\n${rule}${texts.join(rule)}`,
  );
}

/**
 * Compiles for the flags that bin/cox.js gives to Node, and for no flags. The compiled code only
 * saves time at the start.
 */
function compile() {
  const flags = /^#!\S+ -S node (.*)$/m
    .exec(readFileSync(join(root, 'bin', 'cox.js'), 'utf8'))[1]
    .split(' ');
  const { status } = spawnSync(process.execPath, [...flags, join(out, 'cox.js'), 'compile'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    // Flags in NODE_OPTIONS would compile for a set of flags that no program uses.
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  if (status !== 0)
    process.stderr.write(
      'coxswain: it could not be compiled ahead of time, and will start later\n',
    );
}

const [program, ...others] = await Promise.all([
  buildProgram(),
  ...buildSeldom(),
  buildEntries(),
  buildApi(),
  buildConsole(join(out, 'console')),
]);
writeLicences([program, ...others.map(({ metafile }) => metafile)]);
await writeEntries();
compile();

if (process.argv.includes('--types')) emitDeclarations(join(out, 'types'));

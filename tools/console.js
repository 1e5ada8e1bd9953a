// Bundles the console's page (src/console/ui) into a folder of static files: index.html, and scripts
// and styles whose names contain a hash of their content. `node tools/console.js [DIR]` builds it
// alone.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const ui = join(root, 'src', 'console', 'ui');

/** The goal of the first page: scripts and styles that it loads, compressed. */
export const MAX_FIRST_PAGE_BYTES = 250_000;

/** Builds the page into `out` and returns esbuild's metafile and the size of the first page. */
export async function buildConsole(out) {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { boot: join(ui, 'boot.ts') },
    outdir: join(out, 'assets'),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome120', 'firefox121', 'safari17'],
    jsx: 'automatic',
    minify: true,
    entryNames: '[name]-[hash]',
    chunkNames: 'part-[hash]',
    assetNames: '[name]-[hash]',
    define: { 'process.env.NODE_ENV': '"production"' },
    // Licences are in a file of their own.
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    tsconfig: join(ui, 'tsconfig.json'),
  });
  const { scripts, styles } = initialFiles(metafile);
  const path = (file) => `assets/${basename(file)}`;
  const links = [
    ...styles.map((file) => `<link rel="stylesheet" href="${path(file)}" />`),
    ...scripts.slice(1).map((file) => `<link rel="modulepreload" href="${path(file)}" />`),
    `<script type="module" src="${path(scripts[0])}"></script>`,
  ];
  const html = readFileSync(join(ui, 'index.html'), 'utf8').replace(
    '<!-- assets -->',
    links.join('\n    '),
  );
  writeFileSync(join(out, 'index.html'), html);
  return { metafile, size: sizeOf([...scripts, ...styles]) };
}

/**
 * Returns the files that the first page loads: the entry first, the script that it loads after the
 * first paint, and what both import statically.
 */
function initialFiles({ outputs }) {
  const [entry, { cssBundle }] = Object.entries(outputs).find(
    ([path, { entryPoint }]) => entryPoint !== undefined && path.endsWith('.js') && isBoot(path),
  );
  const scripts = new Set([entry]);
  for (const script of scripts) {
    for (const { path, kind } of outputs[script].imports)
      if (kind === 'import-statement' || script === entry) scripts.add(path);
  }
  return { scripts: [...scripts], styles: cssBundle === undefined ? [] : [cssBundle] };
}

const isBoot = (path) => basename(path).startsWith('boot-');

function sizeOf(files) {
  const contents = files.map((file) => readFileSync(join(root, file)));
  const sum = (compress) => contents.reduce((total, each) => total + compress(each).length, 0);
  return {
    plain: sum((each) => each),
    gzip: sum((each) => gzipSync(each, { level: 9 })),
    brotli: sum((each) => brotliCompressSync(each)),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const out = resolve(process.argv[2] ?? join(root, 'dist', 'console'));
  const { size } = await buildConsole(out);
  process.stdout.write(
    `${relative(root, out)}: first page ${size.plain} bytes, gzip ${size.gzip}, brotli ${size.brotli}` +
      ` (at most ${MAX_FIRST_PAGE_BYTES})\n`,
  );
  if (size.gzip > MAX_FIRST_PAGE_BYTES) process.exitCode = 1;
}

// Bundles src/ into dist/ with esbuild: one entry per program, shared code in chunks, so that heavy parts (gRPC, certificates)
// load only when used. With --types it also emits declarations for the embedding API.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
rmSync(join(root, 'dist'), { recursive: true, force: true });

const options = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
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
  // CommonJS dependencies inside an ES module bundle need a `require`.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
};

await build({
  ...options,
  outdir: 'dist',
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  entryPoints: { cox: 'src/cli/main.ts', index: 'src/cluster/index.ts' },
});
// A worker's entry is loaded by its own URL: no shared chunks, so that it stays one small file.
await build({ ...options, outdir: 'dist', entryPoints: { 'storage-worker': 'src/storage/embedded/worker.ts' } });

if (process.argv.includes('--types')) {
  const result = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', 'tsconfig.types.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (result.status !== 0) process.exit(result.status ?? 1);
}

// The entries of the package: the `exports` of package.json, and the file of src/ for each entry.

import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Returns the entries by their subpath: './client' → the source, the built file, and the
 * declarations.
 */
export function packageExports() {
  const entries = {};
  const add = (subpath, source, file) => {
    entries[subpath] = {
      source,
      file,
      types: source.replace('src/', 'dist/types/').replace(/\.ts$/, '.d.ts'),
    };
  };
  for (const name of ['index', 'client', 'controller', 'scheduler', 'testing']) {
    add(name === 'index' ? '.' : `./${name}`, `src/exports/${name}.ts`, `dist/${name}.js`);
  }
  const groups = join(root, 'src', 'api', 'groups');
  for (const group of readdirSync(groups).sort()) {
    for (const version of readdirSync(join(groups, group)).sort()) {
      const name = `api/${group}/${version}`;
      add(`./${name}`, `src/api/groups/${group}/${version}/index.ts`, `dist/${name}.js`);
    }
  }
  add('./api/meta/v1', 'src/api/machinery/meta/v1/index.ts', 'dist/api/meta/v1.js');
  return entries;
}

/** Returns the value of `exports` in package.json. */
export function exportsField() {
  const field = Object.fromEntries(
    Object.entries(packageExports()).map(([subpath, { types, file }]) => [
      subpath,
      { types: `./${types}`, default: `./${file}` },
    ]),
  );
  return { ...field, './package.json': './package.json' };
}

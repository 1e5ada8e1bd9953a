// `npm run generate`: writes {types,index}.ts beside each schema.ts of src/api/, and formats them.

import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { allSchemas } from '#api/all-schemas.ts';
import { configurationSchemas } from '#api/configuration-schemas.ts';
import { folderOf, render } from './generate/render.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const paths: string[] = [];
const schemas = [...new Set([...allSchemas.schemas, ...configurationSchemas.schemas])];
for (const schema of schemas) {
  for (const file of render(
    schema,
    schemas,
    existsSync(`${root}src/api/${folderOf(schema.key)}/helpers.ts`),
  )) {
    const path = `${root}src/api/${file.path}`;
    writeFileSync(path, file.text);
    paths.push(path);
  }
}
execFileSync(`${root}node_modules/.bin/oxfmt`, paths, { stdio: 'inherit', cwd: root });
console.log(`${paths.length} files written from ${schemas.length} schemas`);

// Code blocks in the documentation that name a file are that file: ```ts examples/x.ts. The files
// are compiled and run as examples. To take the files over into the documentation: UPDATE=1 npx
// vitest run --project unit tools/docs-examples.test.ts

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');
const docs = join(root, 'docs');
const BLOCK = /^```(?<language>\w+) (?<path>examples\/[\w./-]+)\n[\s\S]*?^```$/gm;

const pages = readdirSync(docs)
  .filter((name) => name.endsWith('.md'))
  .filter((name) => readFileSync(join(docs, name), 'utf8').match(BLOCK) !== null);

test('some pages have code of examples', () => {
  expect(pages).toContain('testing.md');
});

test.each(pages)('%s has the code of the examples', (name) => {
  const page = readFileSync(join(docs, name), 'utf8');
  const current = page.replace(BLOCK, (_block, language: string, path: string) => {
    const code = readFileSync(join(root, path), 'utf8');
    return `\`\`\`${language} ${path}\n${code}\`\`\``;
  });
  if (process.env['UPDATE'] === '1') writeFileSync(join(docs, name), current);
  else expect(page).toBe(current);
});

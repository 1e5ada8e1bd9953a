// Every path that the documentation names exists: the targets of links, paths in code spans that
// begin at the root of the repository, and names of files in code spans.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

const FOLDERS = ['src', 'docs', 'test', 'tools', 'bench'];

/** All files and folders of FOLDERS, from the root of the repository. */
const paths = FOLDERS.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
    join(folder, path),
  ),
);

const documents = [
  'README.md',
  // docs/api-report.md is generated from declarations.
  ...paths.filter(
    (path) =>
      path !== 'docs/api-report.md' &&
      /^docs\/[^/]+\.md$|^bench\/README\.md$|^src\/(?:.*\/)?README\.md$/.test(path),
  ),
];

const LINK = /\]\(([^)\s#]+)(?:#[^)]*)?\)/g;
const CODE_SPAN = /`([^`\s]+)`/g;
/** A path that begins at the root of the repository. */
const ROOTED = /^(?:src|docs|test|tools|bench)\//;
const FILE = /^[\w*][\w*./-]*\.(?:ts|md)$/;

/** Files that a reader of a guide writes, by the document. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  'docs/adding-a-controller.md': ['src/controllers/team/team-controller.ts'],
  'docs/writing-a-scheduler-plugin.md': ['tenants.ts'],
};

/** Returns the paths in a document that do not exist. */
function missingPaths(document: string, text: string): string[] {
  const folder = dirname(document);
  const prose = text.replace(/^```[\s\S]*?^```/gm, '');
  const links = [...prose.matchAll(LINK)]
    .map((match) => match[1]!)
    .filter((link) => !/^[a-z]+:/.test(link));
  const spans = [...prose.matchAll(CODE_SPAN)]
    .map((match) => match[1]!)
    .filter((span) => EXAMPLES[document]?.includes(span) !== true);
  return [
    ...links.filter((link) => !exists(join(folder, link))),
    ...spans.filter((span) => ROOTED.test(span) && !exists(span)),
    ...spans.filter(
      (span) =>
        !ROOTED.test(span) &&
        FILE.test(span) &&
        !exists(join(folder, span)) &&
        !isPartOfPath(span, folder),
    ),
  ];
}

/**
 * Returns whether a file in the folder of the README, or anywhere for other documents, has a path
 * that ends with `name`.
 */
function isPartOfPath(name: string, folder: string): boolean {
  const within = folder.startsWith('src/') ? `${folder}/` : '';
  return (
    exists(join('src', name)) ||
    paths.some((path) => path.startsWith(within) && path.endsWith(`/${name}`))
  );
}

/**
 * Returns whether the path exists. `*`, and words such as `<kind>`, stand for any part of one name.
 */
function exists(path: string): boolean {
  const pattern = normalize(path.replace(/<[^>]*>/g, '*')).replace(/\/$/, '');
  if (!pattern.includes('*')) return existsSync(join(root, pattern));
  const expression = new RegExp(
    `^${pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/\*+/g, '[^/]*')}$`,
  );
  return paths.some((candidate) => expression.test(candidate));
}

describe('documentation', () => {
  test('exists', () => {
    expect(documents).toEqual(
      expect.arrayContaining(['README.md', 'docs/ARCHITECTURE.md', 'src/kubelet/README.md']),
    );
  });

  test.each(documents)('%s names only files and folders that exist', (document) => {
    expect(missingPaths(document, readFileSync(join(root, document), 'utf8'))).toEqual([]);
  });

  test('reports a path that does not exist', () => {
    const text =
      'See [here](no-guide.md), `src/no-layer/`, `no-file.ts`, [the ' +
      'layers](ARCHITECTURE.md#layers) and `src/*/README.md`.';
    expect(missingPaths('docs/some.md', text)).toEqual([
      'no-guide.md',
      'src/no-layer/',
      'no-file.ts',
    ]);
  });
});

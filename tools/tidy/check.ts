// Checks the files of the repository against the rules, without the exempt ones.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deadExports, rules, type Violation } from './rules.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const EXEMPT = join(root, 'tools', 'tidy', 'exempt.tsv');

export interface FileViolations {
  readonly rule: string;
  readonly path: string;
  readonly violations: readonly Violation[];
}

/**
 * Returns the files of the repository with their text: tracked files, and new files that git does
 * not ignore.
 */
export function repositoryFiles(): ReadonlyMap<string, string> {
  const args = [
    'ls-files',
    '--cached',
    '--others',
    '--exclude-standard',
    '-z',
    'src',
    'test',
    'tools',
    'bench',
    'examples',
    'docs',
  ];
  const paths = [
    ...execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0'),
    'README.md',
    'CONTRIBUTING.md',
  ];
  const files = new Map<string, string>();
  for (const path of paths) {
    if (!/\.(tsx?|js|cjs|md)$/.test(path)) continue;
    const text = readIfThere(join(root, path));
    if (text !== undefined) files.set(path, text);
  }
  return files;
}

/** A deleted file stays in git's list until the deletion is staged. */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns every violation, exempt or not. */
export function findViolations(files: ReadonlyMap<string, string>): readonly FileViolations[] {
  const found: FileViolations[] = [];
  for (const [path, text] of files) {
    for (const rule of rules) {
      const violations = rule.applies(path) ? rule.check(path, text) : [];
      if (violations.length > 0) found.push({ rule: rule.name, path, violations });
    }
  }
  for (const [path, violations] of deadExports(files))
    found.push({ rule: 'dead-exports', path, violations });
  return found.sort((a, b) =>
    a.rule === b.rule ? compare(a.path, b.path) : compare(a.rule, b.rule),
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : 1);

const keyOf = ({ rule, path }: Pick<FileViolations, 'rule' | 'path'>): string => `${rule}\t${path}`;

/** Returns the exempt files: 'rule\tpath'. */
export function readExempt(): ReadonlySet<string> {
  const lines = readFileSync(EXEMPT, 'utf8').split('\n');
  return new Set(lines.filter((line) => line !== '' && !line.startsWith('#')));
}

/**
 * Returns a line for each violation in a file that is not exempt, and one for each exempt file that
 * passes by now.
 */
export function problems(
  found: readonly FileViolations[],
  exempt: ReadonlySet<string>,
): readonly string[] {
  const keys = new Set(found.map(keyOf));
  const wrong = found
    .filter((each) => !exempt.has(keyOf(each)))
    .flatMap(({ rule, path, violations }) =>
      violations.map(({ line, message }) => `${path}:${line}: ${rule}: ${message}`),
    );
  const passing = [...exempt].filter((key) => !keys.has(key));
  return [
    ...wrong,
    ...passing.map(
      (key) =>
        `tools/tidy/exempt.tsv: ${key.replace('\t', ' ')} passes: remove the line (npm run tidy -- --update)`,
    ),
  ];
}

/**
 * Writes the list of exempt files: those that are on it and still fail, or with `all` every file
 * that fails.
 */
export function writeExempt(found: readonly FileViolations[], all: boolean): number {
  const exempt = readExempt();
  const keys = found.map(keyOf).filter((key) => all || exempt.has(key));
  const head =
    '# Files that do not pass a rule of tidy yet. This list only shrinks: npm run tidy -- --update\n';
  writeFileSync(EXEMPT, `${head}${keys.join('\n')}\n`);
  return keys.length;
}

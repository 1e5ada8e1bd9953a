// How commands print: text with everything from elsewhere made harmless, JSON, tables, trees; colours at a terminal
// only.

import { Option } from 'commander';
import type { Cause, Severity } from '#client/explain/index.ts';
import { printable, printableJson } from '#machinery/text/printable.ts';
import { type coloursFor, type ProgressLine, progressLine } from '../terminal.ts';

export interface OutputFlags {
  readonly output?: 'json';
}

export const outputOption = (description = 'form of the output'): Option =>
  new Option('-o, --output <format>', description).choices(['json']);

/** Writes the value as indented JSON. */
export function writeJson(value: unknown): void {
  process.stdout.write(`${printableJson(value, 2)}\n`);
}

export type Colours = ReturnType<typeof coloursFor>;

/** Progress of commands that usually take a moment: at a terminal only. */
export const briefProgress = (flags: OutputFlags): ProgressLine =>
  progressLine(flags.output === 'json' || !process.stderr.isTTY);

/** Returns rows as aligned columns. Cells are made printable. */
export function table(rows: readonly (readonly string[])[]): string {
  const safe = rows.map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of safe)
    row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)));
  return safe
    .map((row) =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
        .join('   ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

const MARKS: Readonly<Record<Severity, string>> = {
  problem: '✗',
  waiting: '…',
  ok: '✓',
  info: '·',
};

export function mark(severity: Severity, { red, yellow, green, dim }: Colours): string {
  const colour = { problem: red, waiting: yellow, ok: green, info: dim }[severity];
  return colour(MARKS[severity]);
}

/** Returns a tree of causes, one line each. */
export function causeTree(tree: Cause, colours: Colours): string {
  return [causeLine(tree, colours), ...branches(tree.causes, '', colours)]
    .map((line) => `${line}\n`)
    .join('');
}

function branches(causes: readonly Cause[], indent: string, colours: Colours): readonly string[] {
  return causes.flatMap((each, i) => {
    const last = i === causes.length - 1;
    return [
      `${indent}${last ? '└─' : '├─'} ${causeLine(each, colours)}`,
      ...branches(each.causes, `${indent}${last ? '   ' : '│  '}`, colours),
    ];
  });
}

export function causeLine({ severity, text, source }: Cause, colours: Colours): string {
  const from = source === undefined ? '' : colours.dim(`  [${printable(source)}]`);
  return `${mark(severity, colours)} ${printable(text)}${from}`;
}

/** 1.5 GiB, 20 KiB. */
export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value >= 10 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

// Counts comparisons, and prints the differences that are not explained.

import type { Explanations } from './explained.ts';

const MAX_TITLE = 600;
const MAX_LINE = 700;
const MAX_LINES = 12;

/** Receives each comparison: its title, and its differences, none if the answers are the same. */
export type ReportLines = (title: string, lines: readonly string[]) => void;

export class Report {
  /** The number of comparisons. */
  sent = 0;
  /** The number of comparisons with differences that are not explained. */
  different = 0;
  /** The number of comparisons whose differences are all explained. */
  explained = 0;
  readonly #explanations: Explanations;
  readonly #print: (line: string) => void;

  constructor(explanations: Explanations, print: (line: string) => void) {
    this.#explanations = explanations;
    this.#print = print;
  }

  /**
   * Records a comparison. `lines`: its differences; none if there are none. `body`: printed after
   * the differences. Default: none.
   */
  readonly record = (title: string, lines: readonly string[], body?: string): void => {
    this.sent++;
    if (lines.length === 0) return;
    const rest = this.#explanations.unexplained(title, lines);
    if (rest.length === 0) {
      this.explained++;
      return;
    }
    this.different++;
    this.#print(title.slice(0, MAX_TITLE));
    for (const line of rest.slice(0, MAX_LINES)) this.#print(`    ${line.slice(0, MAX_LINE)}`);
    if (rest.length > MAX_LINES) this.#print(`    and ${rest.length - MAX_LINES} more`);
    if (body !== undefined) this.#print(`    ${body}`);
  };

  get summary(): string {
    return (
      `${this.sent} requests, ${this.explained} with explained differences only, ` +
      `${this.different} answered differently`
    );
  }
}

// Errors of expressions: problems of the text (with positions, shown as cel-go shows them), and errors of evaluation.

/** A problem found in an expression's text. */
export interface Issue {
  /** Where, in UTF-16 units from the start of the source; -1: no place in particular. */
  readonly offset: number;
  readonly message: string;
}

/** Why an evaluation failed: an ordinary error, which `||` and `&&` may absorb, or the cost ran over a limit. */
export type EvaluationErrorReason = 'error' | 'costLimitExceeded';

export class EvaluationError extends Error {
  readonly reason: EvaluationErrorReason;

  constructor(message: string, reason: EvaluationErrorReason = 'error') {
    super(message);
    this.name = 'EvaluationError';
    this.reason = reason;
  }
}

/** Thrown through an evaluation that has to wait for an answer, which its asker keeps; then it is gone through again. */
export class Suspension extends Error {
  readonly answer: Promise<unknown>;

  constructor(answer: Promise<unknown>) {
    super('the evaluation waits for an answer: use evaluateAsync');
    this.name = 'Suspension';
    this.answer = answer;
  }
}

/** Made without a stack: an expression that fails on each of thousands of devices is no exception, but costs like one. */
export function evaluationError(message: string, reason?: EvaluationErrorReason): EvaluationError {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return new EvaluationError(message, reason);
  } finally {
    Error.stackTraceLimit = limit;
  }
}

export const noSuchOverload = (): EvaluationError => evaluationError('no such overload');
export const noSuchKey = (key: string): EvaluationError => evaluationError(`no such key: ${key}`);

/** The largest number of reported problems of one expression. */
export const MAX_ISSUES = 100;

/** A longer line is not shown with its problems. */
const MAX_SHOWN_LINE = 16_384;

/**
 * The problems as text, in the order of their places, each with its line and a mark below the place:
 *
 *     ERROR: <input>:1:5: undeclared reference to 'x' (in container '')
 *      | 1 + x
 *      | ....^
 */
export function formatIssues(
  source: string,
  issues: readonly Issue[],
  description = '<input>',
): string {
  const sorted = issues.toSorted((a, b) => a.offset - b.offset);
  const lines = source.split('\n');
  let line = 0;
  let start = 0;
  const shown = sorted.slice(0, MAX_ISSUES).map(({ offset, message }) => {
    if (offset < 0) return `ERROR: ${description}:-1:0: ${message}`;
    for (
      let text = lines[line];
      text !== undefined && offset > start + text.length && line < lines.length - 1;
      text = lines[line]
    ) {
      start += text.length + 1;
      line++;
    }
    return formatIssue(
      `${description}:${line + 1}`,
      lines[line] as string,
      offset - start,
      message,
    );
  });
  if (sorted.length > MAX_ISSUES)
    shown.push(`${sorted.length - MAX_ISSUES} more errors were truncated`);
  return shown.join('\n');
}

/** `column`: in UTF-16 units. */
function formatIssue(place: string, line: string, column: number, message: string): string {
  const before = Array.from(line.slice(0, column));
  const head = `ERROR: ${place}:${before.length + 1}: ${message}`;
  // A line of megabytes is not repeated for each of a hundred problems.
  if (line.length > MAX_SHOWN_LINE) return head;
  const at = line.codePointAt(column);
  // Wide characters get wide marks, so that the mark stands below its place.
  const dots = before.map((character) => (character > '\x7f' ? '\uff0e' : '.')).join('');
  const mark = at !== undefined && at > 0x7f ? '\uff3e' : '^';
  return `${head}\n | ${line.replaceAll('\t', ' ')}\n | ${dots}${mark}`;
}

/** What is wrong: the expression, or only that it evaluates to something else than it must. */
export type CompileErrorReason = 'invalid' | 'resultType';

/** An expression that does not compile. The message is what clients are shown, without the prefix that their server puts before it. */
export class CompileError extends Error {
  readonly reason: CompileErrorReason;
  readonly issues: readonly Issue[];

  constructor(source: string, issues: readonly Issue[], reason: CompileErrorReason = 'invalid') {
    super(
      reason === 'resultType'
        ? issues.map(({ message }) => message).join('\n')
        : formatIssues(source, issues),
    );
    this.name = 'CompileError';
    this.reason = reason;
    this.issues = issues;
  }
}

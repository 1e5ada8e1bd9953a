// Errors of expressions: issues of the text (with positions, formatted as by cel-go), and errors of
// evaluation.

/** A problem in an expression's text. */
export interface Issue {
  /** The position in UTF-16 units from the start of the source; -1: no specific position. */
  readonly offset: number;
  readonly message: string;
}

/**
 * The reason of a failed evaluation: an ordinary error, which `||` and `&&` may absorb, or an
 * exceeded cost limit.
 */
export type EvaluationErrorReason = 'error' | 'costLimitExceeded';

export class EvaluationError extends Error {
  readonly reason: EvaluationErrorReason;

  constructor(message: string, reason: EvaluationErrorReason = 'error') {
    super(message);
    this.name = 'EvaluationError';
    this.reason = reason;
  }
}

/**
 * Ends an attempt to evaluate. The next attempt takes place once `answer` has resolved, whose source
 * keeps the result; without an answer, in another turn of the event loop, since the work of this
 * turn is done.
 */
export class Suspension extends Error {
  readonly answer: Promise<unknown> | undefined;

  constructor(answer?: Promise<unknown>) {
    super('the evaluation is not finished in this turn: use evaluateAsync');
    this.name = 'Suspension';
    this.answer = answer;
  }
}

/**
 * Returns an error without a stack: an expression that fails for each of thousands of devices is a
 * normal case, and stacks are expensive.
 */
export function evaluationError(message: string, reason?: EvaluationErrorReason): EvaluationError {
  return withoutStack(() => new EvaluationError(message, reason));
}

/** Returns the suspension of an evaluation that continues in another turn, without a stack. */
export function endOfTurn(): Suspension {
  return withoutStack(() => new Suspension());
}

function withoutStack<T extends Error>(make: () => T): T {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    return make();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

export const noSuchOverload = (): EvaluationError => evaluationError('no such overload');
export const noSuchKey = (key: string): EvaluationError => evaluationError(`no such key: ${key}`);

/** The maximum number of reported issues of one expression. */
export const MAX_ISSUES = 100;

/** The longest line that is shown with its issues. */
const MAX_SHOWN_LINE = 16_384;

/**
 * Returns the issues as text, in the order of their positions, each with its line and a mark below
 * the position:
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
    return formatIssue(`${description}:${line + 1}`, lines[line]!, offset - start, message);
  });
  if (sorted.length > MAX_ISSUES)
    shown.push(`${sorted.length - MAX_ISSUES} more errors were truncated`);
  return shown.join('\n');
}

/** Returns one issue as text. `column`: in UTF-16 units. */
function formatIssue(place: string, line: string, column: number, message: string): string {
  const before = Array.from(line.slice(0, column));
  const head = `ERROR: ${place}:${before.length + 1}: ${message}`;
  // A line of megabytes is not repeated for each of a hundred issues.
  if (line.length > MAX_SHOWN_LINE) return head;
  const at = line.codePointAt(column);
  // Wide characters have wide marks, so that the mark is below its position.
  const dots = before.map((character) => (character > '\x7f' ? '\uff0e' : '.')).join('');
  const mark = at !== undefined && at > 0x7f ? '\uff3e' : '^';
  return `${head}\n | ${line.replaceAll('\t', ' ')}\n | ${dots}${mark}`;
}

/**
 * The reason why an expression does not compile: it is invalid, or its result has the wrong type.
 */
export type CompileErrorReason = 'invalid' | 'resultType';

/**
 * An expression does not compile. The message is the one for clients, without the server's prefix.
 */
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

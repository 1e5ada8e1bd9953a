// An error whose message is for the person at the terminal: what is wrong, and what to do next. No stack is shown.

export class UserError extends Error {
  readonly exitCode: number;
  constructor(message: string, options: { cause?: unknown; exitCode?: number } = {}) {
    super(message, { cause: options.cause });
    this.name = 'UserError';
    this.exitCode = options.exitCode ?? 1;
  }
}

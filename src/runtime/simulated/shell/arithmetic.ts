// Arithmetic of `$((…))`: integers of 64 bits, with the operators of C that scripts use.

export class ArithmeticError extends Error {}

export interface Variables {
  get(name: string): string | undefined;
  set(name: string, value: string): void;
}

const TOKEN =
  /\s*(0[xX][0-9a-fA-F]+|\d+|[A-Za-z_]\w*|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%]=|[-+*/%()<>=!~&|^?:])/y;
const MAX_DEPTH = 100;
const MAX_LENGTH = 10_000;
/** Binary operators by precedence. */
const PRECEDENCE: Readonly<Record<string, number>> = {
  '||': 1,
  '&&': 2,
  '|': 3,
  '^': 4,
  '&': 5,
  '==': 6,
  '!=': 6,
  '<': 7,
  '>': 7,
  '<=': 7,
  '>=': 7,
  '<<': 8,
  '>>': 8,
  '+': 9,
  '-': 9,
  '*': 10,
  '/': 10,
  '%': 10,
};

/** Evaluates the expression. Throws ArithmeticError. */
export function evaluateArithmetic(text: string, variables: Variables): string {
  if (text.length > MAX_LENGTH) throw new ArithmeticError('the expression is too long');
  const tokens: string[] = [];
  let at = 0;
  while (text.slice(at).trim() !== '') {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (match === null)
      throw new ArithmeticError(`arithmetic expression: expecting primary: "${text}"`);
    tokens.push(match[1]!);
    at = TOKEN.lastIndex;
  }
  if (tokens.length === 0) return '0';
  const evaluator = new Evaluator(tokens, variables);
  return String(evaluator.all());
}

class Evaluator {
  readonly #tokens: readonly string[];
  readonly #variables: Variables;
  #position = 0;
  #depth = 0;

  constructor(tokens: readonly string[], variables: Variables) {
    this.#tokens = tokens;
    this.#variables = variables;
  }

  all(): bigint {
    const value = this.#assignment();
    if (this.#position < this.#tokens.length) throw new ArithmeticError('arithmetic syntax error');
    return value;
  }

  #assignment(): bigint {
    if (++this.#depth > MAX_DEPTH) throw new ArithmeticError('expression is nested too deeply');
    const name = this.#tokens[this.#position] ?? '';
    const operator = this.#tokens[this.#position + 1] ?? '';
    let value: bigint;
    if (/^[A-Za-z_]/.test(name) && /^[-+*/%]?=$/.test(operator)) {
      this.#position += 2;
      const right = this.#assignment();
      value = operator === '=' ? right : binary(operator[0]!, this.#variable(name), right);
      this.#variables.set(name, String(value));
    } else {
      value = this.#conditional();
    }
    this.#depth--;
    return value;
  }

  #conditional(): bigint {
    const condition = this.#binary(1);
    if (!this.#accept('?')) return condition;
    const yes = this.#assignment();
    if (!this.#accept(':')) throw new ArithmeticError('arithmetic syntax error');
    const no = this.#assignment();
    return condition !== 0n ? yes : no;
  }

  #binary(least: number): bigint {
    let left = this.#unary();
    for (;;) {
      const operator = this.#tokens[this.#position] ?? '';
      const precedence = Object.hasOwn(PRECEDENCE, operator) ? PRECEDENCE[operator]! : 0;
      if (precedence < least) return left;
      this.#position++;
      left = binary(operator, left, this.#binary(precedence + 1));
    }
  }

  #unary(): bigint {
    if (++this.#depth > MAX_DEPTH) throw new ArithmeticError('expression is nested too deeply');
    const value = this.#primary();
    this.#depth--;
    return value;
  }

  #primary(): bigint {
    const token = this.#tokens[this.#position++];
    if (token === undefined) throw new ArithmeticError('arithmetic syntax error');
    if (token === '-') return BigInt.asIntN(64, -this.#unary());
    if (token === '+') return this.#unary();
    if (token === '!') return this.#unary() === 0n ? 1n : 0n;
    if (token === '~') return ~this.#unary();
    if (token === '(') {
      const value = this.#assignment();
      if (!this.#accept(')')) throw new ArithmeticError('arithmetic syntax error');
      return value;
    }
    if (token === '++' || token === '--') {
      const name = this.#tokens[this.#position++] ?? '';
      return this.#add(name, token === '++' ? 1n : -1n);
    }
    if (/^\d/.test(token)) return BigInt.asIntN(64, integer(token));
    if (!/^[A-Za-z_]/.test(token)) throw new ArithmeticError('arithmetic syntax error');
    const value = this.#variable(token);
    if (this.#accept('++')) this.#add(token, 1n);
    else if (this.#accept('--')) this.#add(token, -1n);
    return value;
  }

  #add(name: string, amount: bigint): bigint {
    const value = BigInt.asIntN(64, this.#variable(name) + amount);
    this.#variables.set(name, String(value));
    return value;
  }

  #variable(name: string): bigint {
    const text = (this.#variables.get(name) ?? '').trim();
    if (text === '') return 0n;
    if (!/^-?(?:0[xX][0-9a-fA-F]{1,16}|\d{1,19})$/.test(text))
      throw new ArithmeticError(`Illegal number: ${text}`);
    return text.startsWith('-') ? -BigInt(text.slice(1)) : BigInt(text);
  }

  #accept(token: string): boolean {
    if (this.#tokens[this.#position] !== token) return false;
    this.#position++;
    return true;
  }
}

function binary(operator: string, a: bigint, b: bigint): bigint {
  return BigInt.asIntN(64, compute(operator, a, b));
}

function compute(operator: string, a: bigint, b: bigint): bigint {
  const truth = (value: boolean): bigint => (value ? 1n : 0n);
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
    case '%':
      if (b === 0n) throw new ArithmeticError('divide by zero');
      return operator === '/' ? a / b : a % b;
    case '<<':
      return a << (b & 63n);
    case '>>':
      return a >> (b & 63n);
    case '<':
      return truth(a < b);
    case '>':
      return truth(a > b);
    case '<=':
      return truth(a <= b);
    case '>=':
      return truth(a >= b);
    case '==':
      return truth(a === b);
    case '!=':
      return truth(a !== b);
    case '&':
      return a & b;
    case '|':
      return a | b;
    case '^':
      return a ^ b;
    case '&&':
      return truth(a !== 0n && b !== 0n);
    case '||':
      return truth(a !== 0n || b !== 0n);
    default:
      throw new ArithmeticError('arithmetic syntax error');
  }
}

function integer(token: string): bigint {
  if (!/^0\d/.test(token)) return BigInt(token);
  if (!/^[0-7]+$/.test(token)) throw new ArithmeticError(`Illegal number: ${token}`);
  return BigInt(`0o${token.slice(1)}`);
}

// The server blocks of a Corefile and the directives in them, before any directive is understood.
// Snippets and `import` are gone: the tokens of what they name are in their place.

import type { DnsFiles } from '../../system/sockets.ts';
import { CorefileError, type Token, tokensOf } from './tokens.ts';

/** A line of a directive's own block. */
export interface Line {
  readonly name: Token;
  readonly args: readonly Token[];
}

export interface Directive extends Line {
  readonly lines: readonly Line[];
}

export interface Block {
  /** Zones with their ports, as they are written. */
  readonly keys: readonly Token[];
  readonly directives: readonly Directive[];
}

export interface ReadOptions {
  readonly files: Pick<DnsFiles, 'read' | 'list'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called with each file that is read. */
  readonly onFile: (path: string, text: string) => void;
}

/** A file or snippet that imports itself ends here. */
const MAX_IMPORTS = 1000;

/** Reads a Corefile with all that it imports. Rejects with CorefileError, or if `path` cannot be read. */
export async function readBlocks(path: string, options: ReadOptions): Promise<readonly Block[]> {
  const { files, env, onFile } = options;
  const text = await files.read(path);
  if (text === undefined) throw new CorefileError({ file: path, line: 1 }, 'there is no such file');
  onFile(path, text);
  return blocksOf(await imported(tokensOf(text, path, env), options));
}

/** Takes snippets out, and puts in what `import` names. */
async function imported(
  tokens: readonly Token[],
  { files, env, onFile }: ReadOptions,
): Promise<readonly Token[]> {
  const snippets = new Map<string, readonly Token[]>();
  const result: Token[] = [];
  /** The tokens that are still to be read, the next one last. */
  const rest = tokens.toReversed();
  let imports = 0;
  let depth = 0;
  for (let token = rest.pop(); token !== undefined; token = rest.pop()) {
    const snippet =
      depth === 0 && token.startsLine ? /^\((.+)\)$/.exec(token.text)?.[1] : undefined;
    if (snippet !== undefined) {
      if (snippets.has(snippet))
        throw new CorefileError(token, `the snippet ${snippet} is there twice`);
      snippets.set(snippet, bodyOf(token, rest));
    } else if (token.text === 'import' && token.startsLine) {
      if (++imports > MAX_IMPORTS)
        throw new CorefileError(token, `more than ${MAX_IMPORTS} imports`);
      const name = rest.pop();
      if (name === undefined || name.startsLine || rest.at(-1)?.startsLine === false)
        throw new CorefileError(token, 'import takes one file or snippet');
      const body = snippets.get(name.text) ?? (await fromFiles(name, { files, env, onFile }));
      rest.push(...body.toReversed());
    } else {
      if (token.text === '{') depth++;
      if (token.text === '}') depth--;
      result.push(token);
    }
  }
  return result;
}

/** Takes the tokens between the next two braces out of `rest`. */
function bodyOf(name: Token, rest: Token[]): readonly Token[] {
  if (rest.pop()?.text !== '{') throw new CorefileError(name, 'a snippet needs a {');
  const body: Token[] = [];
  for (let depth = 1; ;) {
    const token = rest.pop();
    if (token === undefined) throw new CorefileError(name, 'the snippet has no }');
    if (token.text === '{') depth++;
    if (token.text === '}' && --depth === 0) return body;
    body.push(token);
  }
}

/** Returns the tokens of a file, or of all files in a folder that a pattern with one * names, by name. */
async function fromFiles(
  name: Token,
  { files, env, onFile }: ReadOptions,
): Promise<readonly Token[]> {
  const path = relativeTo(name.file, name.text);
  const paths = path.includes('*') ? await matching(name, path, files) : [path];
  const tokens: Token[] = [];
  for (const each of paths) {
    const text = await files.read(each);
    if (text === undefined) throw new CorefileError(name, `there is no file ${each}`);
    onFile(each, text);
    tokens.push(...tokensOf(text, each, env));
  }
  return tokens;
}

async function matching(
  name: Token,
  pattern: string,
  files: Pick<DnsFiles, 'list'>,
): Promise<readonly string[]> {
  const slash = pattern.lastIndexOf('/');
  const folder = pattern.slice(0, slash);
  const [before = '', after = '', ...more] = pattern.slice(slash + 1).split('*');
  if (folder.includes('*') || more.length > 0 || /[?[\]]/.test(pattern))
    throw new CorefileError(name, `a pattern takes one * in a file's name: ${name.text}`);
  const names = await files.list(folder === '' ? '/' : folder);
  return names
    .filter(
      (each) =>
        each.length >= before.length + after.length &&
        each.startsWith(before) &&
        each.endsWith(after),
    )
    .toSorted()
    .map((each) => `${folder}/${each}`);
}

/** Returns a path that is relative to the folder of a file. */
function relativeTo(file: string, path: string): string {
  if (path.startsWith('/')) return path;
  const slash = file.lastIndexOf('/');
  return slash === -1 ? path : `${file.slice(0, slash)}/${path}`;
}

function blocksOf(tokens: readonly Token[]): readonly Block[] {
  const reader = new Reader(tokens);
  const blocks: Block[] = [];
  while (reader.peek() !== undefined) blocks.push(readBlock(reader));
  return blocks;
}

class Reader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  peek(): Token | undefined {
    return this.#tokens[this.#at];
  }

  next(): Token | undefined {
    return this.#tokens[this.#at++];
  }

  /** Returns the tokens up to the end of the line. */
  restOfLine(): readonly Token[] {
    const tokens: Token[] = [];
    for (let token = this.peek(); token !== undefined && !token.startsLine; token = this.peek())
      tokens.push(this.next() as Token);
    return tokens;
  }
}

/** Reads the keys and the directives. A file with one server may leave out the braces. */
function readBlock(reader: Reader): Block {
  const [first, keys, isBraced] = readKeys(reader);
  const directives: Directive[] = [];
  for (;;) {
    const token = reader.next();
    if (token === undefined) {
      if (isBraced) throw new CorefileError(first, 'the server block has no }');
      return { keys, directives };
    }
    if (token.text === '}' && isBraced) return { keys, directives };
    if (token.text === '{' || token.text === '}')
      throw new CorefileError(token, `a directive was expected, not ${token.text}`);
    directives.push(readDirective(token, reader));
  }
}

function readKeys(reader: Reader): readonly [Token, readonly Token[], boolean] {
  const first = reader.next() as Token;
  const keys: Token[] = [];
  let expectsMore = false;
  for (let token: Token | undefined = first; token !== undefined; token = reader.next()) {
    if (token.text === '{') {
      if (keys.length === 0 || expectsMore)
        throw new CorefileError(token, 'a zone was expected, not {');
      return [first, keys, true];
    }
    if (token.text === '}') throw new CorefileError(token, 'a zone was expected, not }');
    expectsMore = token.text.endsWith(',');
    const text = expectsMore ? token.text.slice(0, -1) : token.text;
    if (text !== '') keys.push({ ...token, text });
    if (!expectsMore && reader.peek()?.startsLine === true) break;
  }
  return [first, keys, false];
}

function readDirective(name: Token, reader: Reader): Directive {
  const words = reader.restOfLine();
  const brace = words.findIndex(({ text }) => text === '{');
  if (brace === -1) return { name, args: words, lines: [] };
  const after = words[brace + 1];
  if (after !== undefined) throw new CorefileError(after, 'a new line was expected after {');
  const lines: Line[] = [];
  for (;;) {
    const first = reader.next();
    if (first === undefined) throw new CorefileError(name, `${name.text} has no }`);
    const args = reader.restOfLine();
    if (first.text === '}') {
      const [more] = args;
      if (more !== undefined) throw new CorefileError(more, 'a new line was expected after }');
      return { name, args: words.slice(0, brace), lines };
    }
    const stray = [first, ...args].find(({ text }) => text === '{' || text === '}');
    if (stray !== undefined) throw new CorefileError(stray, `${stray.text} was not expected here`);
    lines.push({ name: first, args });
  }
}

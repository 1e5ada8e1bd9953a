// tar, as `kubectl cp` and client libraries use it: archives are written to stdout and read from
// stdin, or are files. The format is ustar; long names in GNU and pax format can be read.

import { gunzipSync, gzipSync } from 'node:zlib';
import { type FsNode, partsOf, resolvePath } from '../file-system.ts';
import { CommandError, type CommandFunction, pathOf, print, type Process } from '../process.ts';
import { Input } from '../io.ts';

const BLOCK = 512;
const MAX_ARCHIVE = 64 * 1024 * 1024;

interface TarOptions {
  readonly mode: 'c' | 'x' | 't';
  readonly flags: ReadonlySet<string>;
  readonly file: string;
  readonly directory: string;
  readonly paths: readonly string[];
}

export const tar: CommandFunction = async (process) => {
  const options = parseTar(process);
  if (options.mode === 'c') {
    const archive = Buffer.concat([...create(process, options), Buffer.alloc(2 * BLOCK)]);
    const bytes = options.flags.has('z') ? gzipSync(archive) : archive;
    if (options.file === '-') await process.stdout.write(bytes);
    else process.kernel.config.files.write(pathOf(process, options.file), bytes, false);
    return 0;
  }
  const source =
    options.file === '-'
      ? process.stdin
      : Input.of(process.kernel.config.files.read(pathOf(process, options.file)));
  const input = options.flags.has('z')
    ? Input.of(unzip(await source.readAll(MAX_ARCHIVE)))
    : source;
  await extract(process, options, input);
  return 0;
};

function unzip(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_ARCHIVE });
  } catch {
    throw new CommandError('invalid gzip data');
  }
}

function parseTar(process: Process): TarOptions {
  const flags = new Set<string>();
  const paths: string[] = [];
  let [mode, file, directory]: [TarOptions['mode'] | undefined, string, string] = [
    undefined,
    '-',
    '.',
  ];
  const rest = [...process.args];
  // The letters of the first argument may lack the dash.
  if (rest[0] !== undefined && !rest[0].startsWith('-')) rest[0] = `-${rest[0]}`;
  while (rest.length > 0) {
    const arg = rest.shift()!;
    if (arg === '-' || !arg.startsWith('-')) {
      paths.push(arg);
      continue;
    }
    if (arg.startsWith('--')) {
      if (arg === '--') paths.push(...rest.splice(0));
      else if (
        !['--no-same-owner', '--no-same-permissions', '--touch', '--overwrite'].includes(arg)
      )
        throw new CommandError(`unrecognized option: ${arg}`);
      continue;
    }
    for (let i = 1; i < arg.length; i++) {
      const letter = arg[i]!;
      if (letter === 'c' || letter === 'x' || letter === 't') mode = letter;
      else if (letter === 'f' || letter === 'C') {
        const value = arg.slice(i + 1) || rest.shift();
        if (value === undefined) throw new CommandError(`option requires an argument: ${letter}`);
        if (letter === 'f') file = value;
        else directory = value;
        break;
      } else if ('zmvopkh'.includes(letter)) flags.add(letter);
      else throw new CommandError(`unrecognized option: ${letter}`);
    }
  }
  if (mode === undefined) throw new CommandError('one of -c, -x and -t is needed');
  const full = resolvePath(process.directory, directory);
  if (!process.kernel.config.files.isDirectory(full))
    throw new CommandError(`can't change directory to '${directory}': No such file or directory`);
  return { mode, flags, file, directory: full, paths };
}

function* create(process: Process, { paths, directory }: TarOptions): Generator<Buffer> {
  for (const path of paths) {
    const full = resolvePath(directory, path);
    const node = process.kernel.config.files.find(full, false);
    if (node === undefined) throw new CommandError(`${path}: No such file or directory`);
    // As in tar, names in an archive are relative.
    yield* entry(process, full, path.replace(/^\/+/, '') || '.', node);
  }
}

function* entry(process: Process, full: string, name: string, node: FsNode): Generator<Buffer> {
  if (node.kind === 'device') return;
  const content = node.kind === 'file' ? node.content : Buffer.alloc(0);
  yield header(
    node.kind === 'directory' ? `${name.replace(/\/$/, '')}/` : name,
    node,
    content.length,
  );
  if (content.length > 0) yield padded(content);
  if (node.kind !== 'directory') return;
  for (const [child, below] of process.kernel.config.files.list(full))
    yield* entry(process, `${full}/${child}`, `${name.replace(/\/$/, '')}/${child}`, below);
}

function padded(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]);
}

function header(name: string, node: FsNode, size: number): Buffer {
  const bytes = Buffer.from(name);
  // A longer name is stored in a separate entry before (GNU).
  if (bytes.length > 100) {
    const long = Buffer.concat([bytes, Buffer.alloc(1)]);
    return Buffer.concat([
      block('././@LongLink', 'L', 0o644, long.length, 0, ''),
      padded(long),
      header(bytes.subarray(0, 100).toString(), node, size),
    ]);
  }
  const type = { file: '0', directory: '5', link: '2', device: '3' }[node.kind];
  const mode = 'mode' in node ? node.mode : 0o777;
  return block(
    name,
    type,
    mode,
    size,
    'modified' in node ? node.modified : 0,
    node.kind === 'link' ? node.target : '',
  );
}

function block(
  name: string,
  type: string,
  mode: number,
  size: number,
  modified: number,
  link: string,
): Buffer {
  const result = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, length: number): void => {
    result.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  };
  result.write(name, 0, 100);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(Math.floor(modified / 1000), 136, 12);
  result.write(' '.repeat(8), 148);
  result.write(type, 156);
  result.write(link, 157, 100);
  result.write('ustar\u000000root', 257, 'latin1');
  result.write('root', 297);
  octal(
    result.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return result;
}

async function extract(
  process: Process,
  { mode, flags, directory, paths }: TarOptions,
  input: Input,
): Promise<void> {
  const { files } = process.kernel.config;
  let longName: string | undefined;
  for (;;) {
    await process.kernel.step();
    const head = await input.readExactly(BLOCK);
    // The end: a block of zeros, or the end of the input.
    if (head.every((byte) => byte === 0)) break;
    if (head.length < BLOCK) throw new CommandError('short read');
    const text = (at: number, length: number): string =>
      head
        .subarray(at, at + length)
        .toString()
        .replace(/\0.*$/s, '');
    const number = (at: number, length: number): number =>
      Number.parseInt(text(at, length).trim() || '0', 8);
    const size = number(124, 12);
    if (!(size >= 0 && size <= MAX_ARCHIVE)) throw new CommandError('invalid tar header');
    const content = await input.readExactly(size);
    if (content.length < size) throw new CommandError('short read');
    await input.readExactly((BLOCK - (size % BLOCK)) % BLOCK);
    const type = text(156, 1);
    if (type === 'L') {
      longName = content.toString().replace(/\0.*$/s, '');
      continue;
    }
    if (type === 'x' || type === 'g') {
      if (type === 'x') longName = /\d+ path=(.*)\n/.exec(content.toString())?.[1] ?? longName;
      continue;
    }
    const prefix = text(257, 5) === 'ustar' ? text(345, 155) : '';
    const name = longName ?? (prefix === '' ? text(0, 100) : `${prefix}/${text(0, 100)}`);
    longName = undefined;
    // Names that would leave the directory are restricted to it.
    const inside = partsOf(name).join('/');
    if (
      paths.length > 0 &&
      !paths.some((path) => `${inside}/`.startsWith(`${partsOf(path).join('/')}/`))
    )
      continue;
    if (mode === 't' || flags.has('v')) await print(process, `${name}\n`);
    if (mode === 't' || inside === '') continue;
    const target = `${directory}/${inside}`;
    files.makeDirectory(type === '5' ? target : target.replace(/\/[^/]*$/, ''), true);
    if (type === '2') {
      if (files.find(target, false) !== undefined) files.remove(target, false);
      files.link(target, text(157, 100));
    } else if (type !== '5') files.write(target, content, false, number(100, 8) & 0o777);
  }
  // Reads the padding at the end, so that the writer does not get a broken pipe.
  while ((await input.read()) !== undefined);
}

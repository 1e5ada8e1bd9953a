// Commands for files.

import { type DirectoryNode, FileError, type FsNode, partsOf } from '../file-system.ts';
import { Pattern } from '../pattern.ts';
import {
  CommandError,
  type CommandFunction,
  complain,
  eachPath,
  parseOptions,
  pathOf,
  print,
  type Process,
} from '../process.ts';

const baseName = (path: string): string => partsOf(path).at(-1) ?? '/';

const ls: CommandFunction = async (process) => {
  const { flags, operands } = parseOptions(process.args, '1aAlhdrtRFp', '', ['--color=']);
  if (flags.has('R')) throw new CommandError('-R is not simulated');
  const targets = operands.length === 0 ? ['.'] : operands;
  const { files } = process.kernel.config;
  return await eachPath(
    process,
    targets,
    (path) => path,
    async (path) => {
      const full = pathOf(process, path);
      const node = files.find(full, !flags.has('l'));
      if (node === undefined) throw new FileError('No such file or directory');
      const listed: (readonly [string, FsNode])[] =
        node.kind === 'directory' && !flags.has('d')
          ? files
              .list(full)
              .filter(([name]) => flags.has('a') || flags.has('A') || !name.startsWith('.'))
          : [[path, node]];
      if (flags.has('t')) listed.sort(([, a], [, b]) => modifiedOf(b) - modifiedOf(a));
      if (flags.has('r')) listed.reverse();
      if (node.kind === 'directory' && flags.has('a') && !flags.has('d'))
        listed.unshift(['.', node], ['..', node]);
      const heading = targets.length > 1 && node.kind === 'directory' ? `${path}:\n` : '';
      const suffix = (entry: FsNode): string =>
        (flags.has('F') || flags.has('p')) && entry.kind === 'directory' ? '/' : '';
      const lines = listed.map(
        ([name, entry]) =>
          `${flags.has('l') ? longFormat(entry) : ''}${name}${suffix(entry)}` +
          `${flags.has('l') && entry.kind === 'link' ? ` -> ${entry.target}` : ''}\n`,
      );
      await print(process, heading + lines.join(''));
    },
  );
};

const modifiedOf = (node: FsNode): number => ('modified' in node ? node.modified : 0);
const modeOf = (node: FsNode): number =>
  'mode' in node ? node.mode : node.kind === 'link' ? 0o777 : 0o666;
const sizeOf = (node: FsNode): number => (node.kind === 'file' ? node.content.length : 0);

function modeText(node: FsNode): string {
  const kind = { file: '-', directory: 'd', link: 'l', device: 'c' }[node.kind];
  const bits = [...'rwxrwxrwx'].map((letter, i) => ((modeOf(node) >> (8 - i)) & 1 ? letter : '-'));
  return kind + bits.join('');
}

function longFormat(node: FsNode): string {
  const time = new Date(modifiedOf(node)).toISOString().slice(0, 16).replace('T', ' ');
  return `${modeText(node)}    1 root     root     ${String(sizeOf(node)).padStart(9)} ${time} `;
}

const mkdir: CommandFunction = (process) => {
  const { flags, values, operands } = parseOptions(process.args, 'pv', 'm');
  const mode = values.has('m') ? Number.parseInt(values.get('m')!, 8) : 0o755;
  if (operands.length === 0) throw new CommandError('missing operand');
  return eachPath(
    process,
    operands,
    (path) => `can't create directory '${path}'`,
    (path) =>
      process.kernel.config.files.makeDirectory(pathOf(process, path), flags.has('p'), mode),
  );
};

const rm: CommandFunction = (process) => {
  const { flags, operands } = parseOptions(process.args, 'rRfiv');
  const { files } = process.kernel.config;
  if (operands.length === 0 && !flags.has('f')) throw new CommandError('missing operand');
  return eachPath(
    process,
    operands,
    (path) => `can't remove '${path}'`,
    (path) => {
      const full = pathOf(process, path);
      if (flags.has('f') && files.find(full, false) === undefined) return;
      files.remove(full, flags.has('r') || flags.has('R'));
    },
  );
};

const rmdir: CommandFunction = (process) =>
  eachPath(
    process,
    parseOptions(process.args, 'p').operands,
    (path) => `'${path}'`,
    (path) => process.kernel.config.files.removeDirectory(pathOf(process, path)),
  );

const touch: CommandFunction = (process) => {
  const { flags, operands } = parseOptions(process.args, 'cam');
  const { files, clock } = process.kernel.config;
  return eachPath(
    process,
    operands,
    (path) => path,
    (path) => {
      const full = pathOf(process, path);
      const node = files.find(full);
      if (node === undefined) {
        if (!flags.has('c')) files.write(full, Buffer.alloc(0), false);
      } else if ('modified' in node) {
        files.beforeChange();
        node.modified = clock.now();
      }
    },
  );
};

/** Returns a command that copies or moves its operands to the last one. */
function transfer(move: boolean): CommandFunction {
  return (process) => {
    const { flags, operands } = parseOptions(process.args, 'rRafpvnLPd');
    const { files } = process.kernel.config;
    const target = operands.at(-1);
    if (target === undefined || operands.length < 2) throw new CommandError('missing operand');
    const into = files.isDirectory(pathOf(process, target));
    if (operands.length > 2 && !into)
      throw new CommandError(`target '${target}' is not a directory`);
    return eachPath(
      process,
      operands.slice(0, -1),
      (path) => `can't stat '${path}'`,
      (path) => {
        const from = pathOf(process, path);
        const to = into ? pathOf(process, `${target}/${baseName(from)}`) : pathOf(process, target);
        if (flags.has('n') && files.find(to) !== undefined) return;
        if (move) files.move(from, to);
        else copy(process, from, to, flags.has('r') || flags.has('R') || flags.has('a'), 0);
      },
    );
  };
}

function copy(process: Process, from: string, to: string, recursive: boolean, depth: number): void {
  const { files } = process.kernel.config;
  const node = files.find(from);
  if (node === undefined) throw new FileError('No such file or directory');
  if (node.kind !== 'directory') {
    files.write(to, files.read(from), false, modeOf(node));
    return;
  }
  if (!recursive) throw new FileError('omitting directory');
  if (depth > 100 || `${to}/`.startsWith(`${from}/`)) throw new FileError('Invalid argument');
  files.makeDirectory(to, true);
  for (const [name] of files.list(from))
    copy(process, `${from}/${name}`, `${to}/${name}`, true, depth + 1);
}

const chmod: CommandFunction = (process) => {
  const args = process.args.filter((arg) => arg !== '-R');
  const [mode, ...paths] = args;
  if (mode === undefined || paths.length === 0) throw new CommandError('missing operand');
  return eachPath(
    process,
    paths,
    (path) => path,
    (path) => {
      const node = process.kernel.config.files.find(pathOf(process, path));
      if (node === undefined) throw new FileError('No such file or directory');
      process.kernel.config.files.beforeChange();
      if ('mode' in node) node.mode = newMode(node.mode, mode);
    },
  );
};

function newMode(mode: number, text: string): number {
  if (/^[0-7]{3,4}$/.test(text)) return Number.parseInt(text, 8);
  const match = /^([ugoa]*)([-+=])([rwx]+)$/.exec(text);
  if (match === null) throw new CommandError(`invalid mode '${text}'`);
  const bits = [...match[3]!].reduce(
    (sum, letter) => sum | { r: 4, w: 2, x: 1 }[letter as 'r' | 'w' | 'x'],
    0,
  );
  const who = match[1] === '' || match[1]?.includes('a') === true ? 'ugo' : match[1]!;
  let result = mode;
  for (const [letter, shift] of [
    ['u', 6],
    ['g', 3],
    ['o', 0],
  ] as const) {
    if (!who.includes(letter)) continue;
    if (match[2] === '+') result |= bits << shift;
    else if (match[2] === '-') result &= ~(bits << shift);
    else result = (result & ~(7 << shift)) | (bits << shift);
  }
  return result;
}

/** Owners are not modelled: everything belongs to root. */
const chown: CommandFunction = (process) =>
  eachPath(
    process,
    parseOptions(process.args, 'Rhv').operands.slice(1),
    (path) => path,
    (path) => {
      if (process.kernel.config.files.find(pathOf(process, path)) === undefined)
        throw new FileError('No such file or directory');
    },
  );

const ln: CommandFunction = (process) => {
  const { flags, operands } = parseOptions(process.args, 'sfn');
  const [target, name] = operands;
  if (target === undefined) throw new CommandError('missing operand');
  if (!flags.has('s')) throw new CommandError('hard links are not simulated');
  const { files } = process.kernel.config;
  const path = pathOf(process, name ?? baseName(target));
  const full = files.isDirectory(path) && !flags.has('n') ? `${path}/${baseName(target)}` : path;
  if (flags.has('f') && files.find(full, false) !== undefined) files.remove(full, false);
  files.link(full, target);
  return Promise.resolve(0);
};

const readlink: CommandFunction = async (process) => {
  const { flags, operands } = parseOptions(process.args, 'f');
  const [path = ''] = operands;
  const node = process.kernel.config.files.find(pathOf(process, path), false);
  if (node?.kind === 'link') await print(process, `${node.target}\n`);
  else if (flags.has('f')) await print(process, `${pathOf(process, path)}\n`);
  else return 1;
  return 0;
};

const stat: CommandFunction = (process) => {
  const { values, operands } = parseOptions(process.args, 'L', 'c');
  const format = values.get('c') ?? '  File: %n\n  Size: %s\nAccess: (%a/%A)';
  return eachPath(
    process,
    operands,
    (path) => `can't stat '${path}'`,
    async (path) => {
      const node = process.kernel.config.files.find(pathOf(process, path));
      if (node === undefined) throw new FileError('No such file or directory');
      const fields: Readonly<Record<string, string>> = {
        n: path,
        s: String(sizeOf(node)),
        a: modeOf(node).toString(8),
        A: modeText(node),
        u: '0',
        g: '0',
        U: 'root',
        G: 'root',
        Y: String(Math.floor(modifiedOf(node) / 1000)),
        F: {
          file: 'regular file',
          directory: 'directory',
          link: 'symbolic link',
          device: 'character special file',
        }[node.kind],
      };
      await print(
        process,
        format.replace(/%([a-zA-Z])/g, (whole, letter: string) =>
          Object.hasOwn(fields, letter) ? fields[letter]! : whole,
        ) + '\n',
      );
    },
  );
};

const find: CommandFunction = async (process) => {
  const paths: string[] = [];
  const rest = [...process.args];
  while (rest[0] !== undefined && !rest[0].startsWith('-')) paths.push(rest.shift()!);
  let kind: string | undefined;
  let name: Pattern | undefined;
  while (rest.length > 0) {
    const option = rest.shift();
    const value = rest.shift() ?? '';
    if (option === '-type') kind = { f: 'file', d: 'directory', l: 'link' }[value];
    else if (option === '-name') name = new Pattern([{ text: value, quoted: false }]);
    else if (option === '-print') rest.unshift(value);
    else throw new CommandError(`${option} is not simulated`);
  }
  const { files } = process.kernel.config;
  const walk = async (path: string, node: FsNode): Promise<void> => {
    await process.kernel.step();
    if (
      (kind === undefined || node.kind === kind) &&
      (name === undefined || name.matches(baseName(path)))
    )
      await print(process, `${path}\n`);
    if (node.kind !== 'directory') return;
    for (const [child, entry] of [...(node satisfies DirectoryNode).entries].sort(([a], [b]) =>
      a < b ? -1 : 1,
    )) {
      await walk(path.endsWith('/') ? path + child : `${path}/${child}`, entry);
    }
  };
  return await eachPath(
    process,
    paths.length === 0 ? ['.'] : paths,
    (path) => path,
    async (path) => {
      const node = files.find(pathOf(process, path), false);
      if (node === undefined) throw new FileError('No such file or directory');
      await walk(path, node);
    },
  );
};

const mktemp: CommandFunction = async (process) => {
  const { flags } = parseOptions(process.args, 'd', 'tp');
  const { files, random } = process.kernel.config;
  const path = `/tmp/tmp.${random.nameSuffix(6)}`;
  if (flags.has('d')) files.makeDirectory(path, false, 0o700);
  else files.write(path, Buffer.alloc(0), false, 0o600);
  await print(process, `${path}\n`);
  return 0;
};

const basename: CommandFunction = async (process) => {
  const [path = '', suffix = ''] = process.args;
  const name = baseName(path);
  await print(
    process,
    `${suffix !== '' && name !== suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name}\n`,
  );
  return 0;
};

const dirname: CommandFunction = async (process) => {
  const path = (process.args[0] ?? '').replace(/\/+$/, '');
  const at = path.lastIndexOf('/');
  await print(process, `${at === -1 ? '.' : path.slice(0, at) || '/'}\n`);
  return 0;
};

const dd: CommandFunction = async (process) => {
  const options = new Map(process.args.map((arg) => arg.split(/=(.*)/s) as [string, string]));
  for (const key of options.keys()) {
    if (!['if', 'of', 'bs', 'count'].includes(key))
      throw new CommandError(`${key}= is not simulated`);
  }
  const { files } = process.kernel.config;
  const size = byteCount(options.get('bs') ?? '512') * Number(options.get('count') ?? Number.NaN);
  const source = options.get('if');
  const node = source === undefined ? undefined : files.find(pathOf(process, source));
  let data: Buffer;
  if (source === undefined)
    data = await (Number.isNaN(size)
      ? process.stdin.readAll(16 * 1024 * 1024)
      : process.stdin.readExactly(size));
  else if (node?.kind === 'device') {
    if (Number.isNaN(size) || size > 16 * 1024 * 1024)
      throw new CommandError('at most 16 MiB can be read from a device');
    data =
      node.device === 'random'
        ? Buffer.from(process.kernel.config.random.bytes(size))
        : Buffer.alloc(node.device === 'zero' ? size : 0);
  } else
    data = files.read(pathOf(process, source)).subarray(0, Number.isNaN(size) ? undefined : size);
  const target = options.get('of');
  if (target === undefined) await process.stdout.write(data);
  else files.write(pathOf(process, target), data, false);
  await complain(process, `${data.length} bytes copied`);
  return 0;
};

function byteCount(text: string): number {
  const match = /^(\d+)([kKMG]?)B?$/.exec(text);
  if (match === null) throw new CommandError(`invalid number '${text}'`);
  return (
    Number(match[1]) * ({ '': 1, k: 1024, K: 1024, M: 1024 ** 2, G: 1024 ** 3 }[match[2]!] ?? 1)
  );
}

export const fileCommands: Readonly<Record<string, CommandFunction>> = {
  ls,
  mkdir,
  rm,
  rmdir,
  touch,
  chmod,
  chown,
  chgrp: chown,
  ln,
  readlink,
  stat,
  find,
  mktemp,
  basename,
  dirname,
  dd,
  realpath: async (process) => {
    await print(process, `${pathOf(process, process.args.at(-1) ?? '.')}\n`);
    return 0;
  },
  cp: transfer(false),
  mv: transfer(true),
  unlink: rm,
};

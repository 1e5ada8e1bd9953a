// Finds duplicate keys in one pass over JSON text. JSON.parse does not report them.

/** The limit of reported keys, as in upstream. */
const MAX_DUPLICATES = 100;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** The keys of one object so far: compared one by one while they are few. */
class Keys {
  readonly #list: string[] = [];
  #set: Set<string> | undefined;

  /** Adds a key. Returns whether it is new. */
  add(key: string): boolean {
    if (this.#set !== undefined) {
      const size = this.#set.size;
      return this.#set.add(key).size > size;
    }
    if (this.#list.includes(key)) return false;
    this.#list.push(key);
    if (this.#list.length > 12) this.#set = new Set(this.#list);
    return true;
  }
}

interface Frame {
  /** Undefined for a list. */
  readonly keys: Keys | undefined;
  /** The current key or index. */
  at: string | number;
}

/**
 * Paths of keys whose name is that of an unknown field are compared with these so many times: a deep
 * path takes long to write.
 */
const MAX_COMPARISONS = 1000;

/**
 * Returns paths of duplicate keys in the order of the text, such as 'metadata.labels.app' or
 * 'spec.containers[0].image'; each once, at most 100. For text that JSON.parse accepts; the result
 * for other text is undefined. `unknown`: paths of unknown fields, which are returned where the text
 * has them, and without duplicates of theirs or within them, as upstream's decoder skips them.
 */
export function findDuplicateFields(text: string, unknown: readonly string[] = []): string[] {
  let found: Set<string> | undefined;
  let duplicates = 0;
  const unknownPaths = new Set(unknown);
  const unknownNames = new Set(unknown.map((path) => path.slice(path.lastIndexOf('.') + 1)));
  let comparisons = 0;
  const stack: Frame[] = [];
  let top: Frame | undefined;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE: {
        const end = endOfString(text, i + 1);
        if (top?.keys !== undefined && isKey(text, end + 1)) {
          const raw = text.slice(i + 1, end);
          top.at = raw.includes('\\') ? (JSON.parse(text.slice(i, end + 1)) as string) : raw;
          const isNew = top.keys.add(top.at);
          if (isNew && unknownNames.has(top.at) && comparisons++ < MAX_COMPARISONS) {
            const path = pathOf(stack);
            if (unknownPaths.has(path)) (found ??= new Set()).add(path);
          } else if (!isNew && duplicates < MAX_DUPLICATES) {
            const path = pathOf(stack);
            if (!isWithin(path, unknown)) {
              found ??= new Set();
              duplicates += found.has(path) ? 0 : 1;
              found.add(path);
            }
          }
        }
        i = end;
        break;
      }
      case COMMA:
        if (typeof top?.at === 'number') top.at++;
        break;
      case OPEN_OBJECT:
        top = { keys: new Keys(), at: '' };
        stack.push(top);
        break;
      case OPEN_LIST:
        top = { keys: undefined, at: 0 };
        stack.push(top);
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        stack.pop();
        top = stack[stack.length - 1];
        break;
    }
  }
  return found === undefined ? [] : [...found];
}

const isWithin = (path: string, unknown: readonly string[]): boolean =>
  unknown.some(
    (each) => path === each || path.startsWith(`${each}.`) || path.startsWith(`${each}[`),
  );

/** Returns the index of the closing quote, or of the last character if there is none. */
function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from);
  while (end !== -1) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH && end - 1 - backslashes >= from)
      backslashes++;
    if (backslashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}

/** Reports whether a colon follows the string that ended before `from`. */
function isKey(text: string, from: number): boolean {
  let i = from;
  while (text.charCodeAt(i) <= 32) i++;
  return text.charCodeAt(i) === COLON;
}

function pathOf(stack: readonly Frame[]): string {
  let path = '';
  for (const frame of stack) {
    if (typeof frame.at === 'number') path += `[${frame.at}]`;
    else path += path === '' ? frame.at : `.${frame.at}`;
  }
  return path;
}

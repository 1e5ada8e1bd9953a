// Rewrites the links of an HTML page while it passes: a tokenizer that looks at each character once, keeps no more than one tag, and needs
// no whole page. What is no start tag passes as it is: text, comments, end tags, and the text of scripts and styles.

/** The attributes that are links, by element. */
const LINKS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    a: ['href'],
    applet: ['codebase'],
    area: ['href'],
    audio: ['src'],
    base: ['href'],
    blockquote: ['cite'],
    body: ['background'],
    button: ['formaction'],
    command: ['icon'],
    del: ['cite'],
    embed: ['src'],
    form: ['action'],
    frame: ['longdesc', 'src'],
    head: ['profile'],
    html: ['manifest'],
    iframe: ['longdesc', 'src'],
    img: ['longdesc', 'src', 'usemap'],
    input: ['src', 'usemap', 'formaction'],
    ins: ['cite'],
    link: ['href'],
    object: ['classid', 'codebase', 'data', 'usemap'],
    q: ['cite'],
    script: ['src'],
    source: ['src'],
    video: ['poster', 'src'],
  }),
);

/** Elements whose content is text up to their end tag. */
const RAW_TEXT: ReadonlySet<string> = new Set([
  'iframe',
  'noembed',
  'noframes',
  'plaintext',
  'script',
  'style',
  'textarea',
  'title',
  'xmp',
]);

/** A tag that is longer passes as it is. */
const MAX_TAG_LENGTH = 64 * 1024;
/** Longer names are no names of elements. */
const MAX_NAME_LENGTH = 32;

type State =
  | 'text'
  | 'tag open'
  | 'end tag open'
  | 'declaration'
  | 'comment'
  | 'tag name'
  | 'before attribute'
  | 'attribute name'
  | 'after attribute name'
  | 'before value'
  | 'value';

const isSpace = (char: string): boolean =>
  char === ' ' || char === '\n' || char === '\t' || char === '\r' || char === '\f';
const isLetter = (char: string): boolean =>
  (char >= 'a' && char <= 'z') || (char >= 'A' && char <= 'Z');

export class HtmlLinks {
  readonly #rewrite: (link: string) => string;
  #state: State = 'text';
  /** The element whose raw text this is, or ''. */
  #rawText = '';
  /** The tag so far, links rewritten. Only within a tag. */
  #tag = '';
  #isEndTag = false;
  /** The tag is too long: it has been passed on so far, and its links stay as they are. */
  #passing = false;
  #element = '';
  #attribute = '';
  #quote = '';
  #value = '';
  /** The tag is too long, and the mark that opens the value has been passed on; the one that closes it is still to come. */
  #passedQuote = false;
  /** The last characters of a comment or a declaration. */
  #tail = '';

  /** `rewrite`: returns a link as it is to be, without quotation marks. */
  constructor(rewrite: (link: string) => string) {
    this.#rewrite = rewrite;
  }

  /** Takes the next part of the page. Returns what can be passed on. */
  push(text: string): string {
    let out = '';
    let at = 0;
    while (at < text.length) {
      if (this.#state === 'text') {
        const open = text.indexOf('<', at);
        if (open < 0) return out + text.slice(at);
        out += text.slice(at, open);
        at = open + 1;
        this.#state = 'tag open';
        this.#tag = '<';
        continue;
      }
      out += this.#next(text[at]!);
      at++;
      if (this.#tag.length + this.#value.length > MAX_TAG_LENGTH) {
        this.#passing = true;
        out += this.#tag + this.#quote + this.#value;
        this.#tag = '';
        this.#value = '';
        this.#passedQuote = this.#quote !== '';
      }
    }
    return out;
  }

  /** Returns what is left when the page is over. */
  end(): string {
    const rest =
      this.#state === 'value' && !this.#passedQuote
        ? this.#tag + this.#quote + this.#value
        : this.#tag + this.#value;
    this.#reset();
    return rest;
  }

  #next(char: string): string {
    switch (this.#state) {
      case 'tag open':
        return this.#tagOpen(char);
      case 'end tag open':
        return this.#endTagOpen(char);
      case 'declaration':
      case 'comment':
        return this.#declaration(char);
      case 'value':
        return this.#inValue(char);
      case 'tag name':
        if (isSpace(char) || char === '/') this.#state = 'before attribute';
        else if (char === '>') return this.#close();
        else if (this.#element.length < MAX_NAME_LENGTH) this.#element += char.toLowerCase();
        break;
      case 'before attribute':
        if (char === '>') return this.#close();
        if (!isSpace(char) && char !== '/') {
          this.#attribute = char.toLowerCase();
          this.#state = 'attribute name';
        }
        break;
      case 'attribute name':
        if (char === '>') return this.#close();
        if (char === '=') this.#state = 'before value';
        else if (char === '/') this.#state = 'before attribute';
        else if (isSpace(char)) this.#state = 'after attribute name';
        else if (this.#attribute.length < MAX_NAME_LENGTH) this.#attribute += char.toLowerCase();
        break;
      case 'after attribute name':
        if (char === '>') return this.#close();
        if (char === '=') this.#state = 'before value';
        else if (char === '/') this.#state = 'before attribute';
        else if (!isSpace(char)) {
          this.#attribute = char.toLowerCase();
          this.#state = 'attribute name';
        }
        break;
      case 'before value':
        if (char === '>') return this.#close();
        if (isSpace(char)) break;
        this.#state = 'value';
        if (char === '"' || char === "'") {
          this.#quote = char;
          return this.#pass('');
        }
        return this.#inValue(char);
    }
    return this.#keep(char);
  }

  #tagOpen(char: string): string {
    // Within raw text only the end tag of its element counts.
    if (char === '/') this.#state = 'end tag open';
    else if (this.#rawText !== '') return this.#noTag(char);
    else if (char === '!' || char === '?') {
      this.#state = 'declaration';
      this.#tail = '';
      return this.#flush(char);
    } else if (isLetter(char)) this.#beginTag(char, false);
    else return this.#noTag(char);
    return this.#keep(char);
  }

  #endTagOpen(char: string): string {
    if (!isLetter(char)) return this.#noTag(char);
    this.#beginTag(char, true);
    return this.#keep(char);
  }

  #beginTag(char: string, isEndTag: boolean): void {
    this.#state = 'tag name';
    this.#isEndTag = isEndTag;
    this.#element = char.toLowerCase();
  }

  /** A comment ends at -->, another declaration at the first >. */
  #declaration(char: string): string {
    this.#tail = (this.#tail + char).slice(-3);
    if (this.#state === 'declaration' && this.#tail === '--') this.#state = 'comment';
    if (this.#state === 'comment' ? this.#tail.endsWith('-->') : char === '>') this.#state = 'text';
    return char;
  }

  #inValue(char: string): string {
    if (this.#quote === '' ? !isSpace(char) && char !== '>' : char !== this.#quote) {
      if (this.#passing) return char;
      this.#value += char;
      return '';
    }
    const quote = this.#quote;
    const out = this.#endOfValue();
    if (quote === '' && char === '>') return out + this.#close();
    this.#state = 'before attribute';
    return quote === '' ? out + this.#keep(char) : out;
  }

  /** Adds the value to the tag, rewritten if it is a link. */
  #endOfValue(): string {
    const value = this.#value;
    const quote = this.#quote;
    this.#value = '';
    this.#quote = '';
    if (this.#passing) {
      const opened = this.#passedQuote;
      this.#passedQuote = false;
      return opened ? quote : quote + value + quote;
    }
    const isLink = !this.#isEndTag && LINKS.get(this.#element)?.includes(this.#attribute) === true;
    const link = isLink ? this.#rewrite(value) : value;
    const mark = isLink && quote === '' ? '"' : quote;
    this.#tag += mark + link + mark;
    return '';
  }

  #close(): string {
    const out = this.#keep('>');
    const tag = this.#tag;
    const element = this.#element;
    if (this.#rawText !== '') {
      if (this.#isEndTag && element === this.#rawText) this.#rawText = '';
    } else if (!this.#isEndTag && RAW_TEXT.has(element)) this.#rawText = element;
    this.#reset();
    return out + tag;
  }

  #noTag(char: string): string {
    // It may be the beginning of a tag itself.
    const before = this.#tag;
    this.#reset();
    if (char !== '<') return before + char;
    this.#state = 'tag open';
    this.#tag = '<';
    return before;
  }

  #flush(char: string): string {
    const out = this.#tag + char;
    this.#tag = '';
    return out;
  }

  #keep(char: string): string {
    if (this.#passing) return char;
    this.#tag += char;
    return '';
  }

  /** While a long tag passes, its marks do, too. */
  #pass(text: string): string {
    if (!this.#passing) return text;
    this.#passedQuote = true;
    return this.#quote;
  }

  #reset(): void {
    this.#state = 'text';
    this.#tag = '';
    this.#value = '';
    this.#quote = '';
    this.#passing = false;
    this.#passedQuote = false;
    this.#isEndTag = false;
  }
}

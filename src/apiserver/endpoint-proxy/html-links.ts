// Rewrites the links of an HTML page as a stream. The tokenizer reads each character once and
// buffers at most one tag, so it needs no complete page. Everything except start tags passes
// unchanged: text, comments, end tags, and the text of scripts and styles.

/** The attributes that contain links, by element. */
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

/** The maximum length of a tag whose links are rewritten. A longer tag passes unchanged. */
const MAX_TAG_LENGTH = 64 * 1024;
/** The maximum length of an element's name. */
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
  /** The name of the current raw text element, or ''. */
  #rawText = '';
  /** The current tag so far, with rewritten links. Empty outside of a tag. */
  #tag = '';
  #isEndTag = false;
  /** The tag is too long: its beginning has been passed on, and its links stay unchanged. */
  #passing = false;
  #element = '';
  #attribute = '';
  #quote = '';
  #value = '';
  /**
   * The tag is too long, and the opening quote of the current value has been passed on; the closing
   * one has not.
   */
  #passedQuote = false;
  /** The last characters of a comment or a declaration. */
  #tail = '';

  /** Creates the rewriter. `rewrite`: returns the new link, without quotes. */
  constructor(rewrite: (link: string) => string) {
    this.#rewrite = rewrite;
  }

  /** Takes the next part of the page. Returns the text that can be passed on. */
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

  /** Ends the page. Returns the buffered rest. */
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
    // In raw text only the end tag of its element counts.
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

  /**
   * Handles a character of a declaration. A comment ends at -->, another declaration at the first
   * >.
   */
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
    // The character may begin a tag itself.
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

  /** Returns the text to add to the output while a long tag passes. Its quotes pass, too. */
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

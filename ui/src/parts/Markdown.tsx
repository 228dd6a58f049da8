// Markdown to elements, token by token. No HTML is ever parsed: a tag in a message is text, and an image a link.
import { lexer, type Token, type Tokens } from "marked";
import { createContext, memo, type ReactNode, useContext } from "react";
import { Code } from "./Code";

const SAFE = /^(https?:|mailto:)/i;

// Deeper than people write. A program can write much deeper, and both the lexer and the drawing are recursive.
const DEEPEST = 50;
const MARKER = "(?:>|[-*+](?=[ \\t]|$)|\\d{1,9}[.)](?=[ \\t]|$))";
const NESTED_LINE = new RegExp(`^(?:(?:[ \\t]*${MARKER}){${DEEPEST},}|[ \\t]{${2 * DEEPEST},}${MARKER})`, "m");

export const Markdown = memo(function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  const tokens = tokensOf(text);
  return (
    <Live value={live}>
      <div className={live ? "prose live" : "prose"}>{tokens ? blocks(tokens) : <PlainText text={text} />}</div>
    </Live>
  );
});

const Live = createContext(false);

function CodeBlock({ code: { text, lang } }: { code: Tokens.Code }) {
  const language = /^[\w+#.-]{1,30}/.exec(lang?.trim() ?? "")?.[0].toLowerCase() ?? "";
  return <Code text={text} language={language} live={useContext(Live)} />;
}

export function PlainText({ text }: { text: string }) {
  return <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{text}</p>;
}

/** The text's tokens, or null where it is shown as plain text: nested too deep, or the lexer gave up. */
function tokensOf(text: string): Token[] | null {
  if (NESTED_LINE.test(text)) return null;
  try {
    const tokens = lexer(text, { gfm: true, breaks: true });
    return isDeep(tokens) ? null : tokens;
  } catch {
    return null;
  }
}

type Nested = { tokens?: Nested[]; items?: Nested[]; header?: Nested[]; rows?: Nested[][] };

function isDeep(tokens: Token[]): boolean {
  let level = tokens as Nested[];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEEPEST) return true;
    level = level.flatMap((token) => [
      ...(token.tokens ?? []),
      ...(token.items ?? []),
      // An array of cells in a table, a boolean in a cell.
      ...(Array.isArray(token.header) ? token.header : []),
      ...(token.rows ?? []).flat(),
    ]);
  }
  return false;
}

function blocks(tokens: Token[]): ReactNode[] {
  return tokens.map((token, index) => <Block key={index} token={token} />);
}

function Block({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const level = Math.min(6, (token as Tokens.Heading).depth + 2);
      const Heading = `h${level}` as "h3";
      return <Heading>{inline(token.tokens)}</Heading>;
    }
    case "code":
      return <CodeBlock code={token as Tokens.Code} />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case "list":
      return <List list={token as Tokens.List} />;
    case "hr":
      return <hr />;
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "text":
      return token.tokens ? inline(token.tokens) : token.raw;
    default:
      return <p>{token.raw}</p>;
  }
}

function List({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, index) => (
    <li key={index} className={item.task ? "task" : undefined}>
      {item.task && (
        <input
          type="checkbox"
          checked={item.checked ?? false}
          readOnly
          disabled
          aria-label={item.checked ? "Done" : "Open"}
          className="mr-2 align-[-0.1em] accent-(--color-accent)"
        />
      )}
      {blocks(item.tokens.filter((token) => token.type !== "checkbox"))}
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table }: { table: Tokens.Table }) {
  return (
    <section className="table-box" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {table.header.map((cell, index) => (
              <th key={index} scope="col" data-align={cell.align ?? undefined}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} data-align={cell.align ?? undefined}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function inline(tokens: Token[] | undefined): ReactNode[] {
  return (tokens ?? []).map((token, index) => <Inline key={index} token={token} />);
}

function Inline({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text as string}</code>;
    case "br":
      return <br />;
    case "link":
      return <Anchor href={(token as Tokens.Link).href}>{inline(token.tokens)}</Anchor>;
    case "image":
      return (
        <Anchor href={(token as Tokens.Image).href}>
          {(token as Tokens.Image).text || (token as Tokens.Image).href}
        </Anchor>
      );
    case "escape":
      return token.text as string;
    case "text":
      return token.tokens ? inline(token.tokens) : decodeEntities(token.text as string);
    default:
      return token.raw;
  }
}

function Anchor({ href, children }: { href: string; children: ReactNode }) {
  if (!SAFE.test(href)) return <>{children}</>;
  return (
    <a className="link" href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  );
}

const entities: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };
const decodeEntities = (text: string) =>
  text.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities[entity] ?? entity);

// The page's Markdown: text in, nodes out.
#include "server/page/page_test.h"

namespace hearth::server::test {
namespace {

TEST(PageMarkdown, becomes_nodes) {
  NEEDS_CHROMIUM();
  struct Case {
    const char *text, *html;
  };
  static const Case cases[] = {
      {"a *b* **c** ***d*** _e_ ~~f~~", "<p>a <em>b</em> <strong>c</strong> <em><strong>d</strong></em> <em>e</em> <del>f</del></p>"},
      {"snake_case_name 2*3*4 **x*", "<p>snake_case_name 2<em>3</em>4 *<em>x</em></p>"},
      {"*a **b** c*", "<p><em>a <strong>b</strong> c</em></p>"},
      {"\\*a\\* \\(x\\)", "<p>*a* \\(x\\)</p>"},
      {"# A\n## B #\ntext", "<h3>A</h3><h4>B</h4><p>text</p>"},
      {"a\nb  \nc", "<p>a\nb<br>c</p>"},
      {"`a<b>` ``x`y``", "<p><code>a&lt;b&gt;</code> <code>x`y</code></p>"},
      {"<b>x</b> &amp; &lt;", "<p>&lt;b&gt;x&lt;/b&gt; &amp; &lt;</p>"},
      {"---", "<hr>"},
      {"> a\n> > b\nlazy\n\nend", "<blockquote><p>a</p><blockquote><p>b\nlazy</p></blockquote></blockquote><p>end</p>"},
      {"- a\n- b\n  - c\n- [x] d",
       R"h(<ul><li>a</li><li>b<ul><li>c</li></ul></li><li><input type="checkbox" disabled="" aria-label="done"> d</li></ul>)h"},
      {"3. a\n4. b\n\ntext", R"h(<ol start="3"><li>a</li><li>b</li></ol><p>text</p>)h"},
      {"1. a\n\n   b\n2. c", R"h(<ol start="1"><li><p>a</p><p>b</p></li><li><p>c</p></li></ol>)h"},
      {"In\n1986. it", "<p>In\n1986. it</p>"},
      {"| a | b |\n|---|--:|\n| `x|y` | \\| |",
       R"h(<div class="scroll" tabindex="0"><table><thead><tr><th>a</th><th class="right">b</th></tr></thead>)h"
       R"h(<tbody><tr><td><code>x|y</code></td><td class="right">|</td></tr></tbody></table></div>)h"},
      {"a | b", "<p>a | b</p>"},
      {"[x *y*](https://e.org/a_(b) \"t\")",
       R"h(<p><a href="https://e.org/a_(b)" rel="noopener noreferrer" target="_blank" title="t">x <em>y</em></a></p>)h"},
      {"see https://e.org/x.", R"h(<p>see <a href="https://e.org/x" rel="noopener noreferrer" target="_blank">https://e.org/x</a>.</p>)h"},
      {"![a](https://e.org/p.png)", R"h(<p><a href="https://e.org/p.png" rel="noopener noreferrer" target="_blank">a</a></p>)h"},
      {"[x](javascript:alert(1)) [y](data:text/html,z) [z](JAVASCRIPT:1)",
       "<p>[x](javascript:alert(1)) [y](data:text/html,z) [z](JAVASCRIPT:1)</p>"},
      {"[x](https://e.org\" onclick=\"alert(1))",
       R"h(<p>[x](<a href="https://e.org/" rel="noopener noreferrer" target="_blank">https://e.org</a>" onclick="alert(1))</p>)h"},
  };
  Browser browser(800, 600);
  open_page(browser);
  for (const Case& c : cases)
    EXPECT_EQ(browser.evaluate("import('/page/markdown.js').then((m) => m.markdown(" + Json(c.text).dump() +
                               ").map((n) => n.outerHTML).join(''))"),
              c.html)
        << c.text;
  // Code: the language, a button, colors; a fence that is still open while the answer streams.
  const Json code = browser.evaluate(R"js(import('/page/markdown.js').then((m) => {
    const [figure] = m.markdown('```py\ndef f(): # c\n  return "s"\n\n* x');
    return [figure.querySelector('figcaption').textContent, figure.querySelector('pre').textContent,
      [...figure.querySelectorAll('pre span')].map((s) => s.className + ':' + s.textContent).join(' ')];
  }))js");
  EXPECT_EQ(code, Json({"pyCopy", "def f(): # c\n  return \"s\"\n\n* x", "keyword:def comment:# c keyword:return string:\"s\""}));
  EXPECT_TRUE(browser.complaints().empty()) << Json(browser.complaints()).dump();
}

// However the text arrives, the page ends as if it had come at once; and no text takes long.
TEST(PageMarkdown, grows_and_stays_quick) {
  NEEDS_CHROMIUM();
  Browser browser(800, 600);
  open_page(browser);
  EXPECT_EQ(browser.evaluate(R"js(import('/page/markdown.js').then((m) => {
    const text = '# T\n\nSome *text*\nmore.\n\n- a\n  ```js\n  let x = 1;\n  ```\n- b\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n' +
      '> q\n\n~~~\nraw\n~~~\nend [l](https://e.org)';
    const at = document.createElement('div'), growing = new m.GrowingMarkdown(at);
    for (let i = 1; i <= text.length; ++i) growing.set(text.slice(0, i));
    const kept = at.firstChild;
    growing.set(text + ' more');
    return at.outerHTML === '<div>' + m.markdown(text + ' more').map((n) => n.outerHTML).join('') + '</div>' && at.firstChild === kept;
  }))js"),
            true);
  const Json slow = browser.evaluate(R"js(import('/page/markdown.js').then((m) => {
    const slow = [];
    for (const piece of ['*', '[', '![', '>', '- ', '` ``', '*a _b ', 'a|', 'http://', '    ', '\n- a', '~', '<', '\\', '(', '|-', '1. ']) {
      const begin = performance.now();
      m.markdown(piece.repeat(5000));
      if (performance.now() - begin > 2000) slow.push(piece);
    }
    return slow;
  }))js");
  EXPECT_EQ(slow, Json::array());
}

}  // namespace
}  // namespace hearth::server::test

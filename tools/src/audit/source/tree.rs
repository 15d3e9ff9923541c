//! What nodes of the grammars are to each other. The grammars name alike what
//! is alike, so that one table serves all.

use tree_sitter::Node;

/// A file that is being read.
#[derive(Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl<'a> Text<'a> {
    pub(super) fn of(self, node: Node<'_>) -> &'a str {
        self.0.get(node.byte_range()).unwrap_or_default()
    }

    /// The last word of an expression: what is called, or assigned to.
    pub(super) fn last_word(self, node: Node<'_>) -> &'a str {
        let text = self.of(node).trim_end_matches(['!', '?']).trim_end_matches("()");
        let start = text
            .rfind(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
        &text[start..]
    }

    /// What a string says, without its quotes.
    pub(super) fn said(self, node: Node<'_>) -> &'a str {
        let text = self.of(node).trim_start_matches(['b', 'r', 'f', 'u', 'B', 'R', 'F', 'U', '#']);
        text.trim_matches(['"', '\'', '`', '#'])
    }
}

/// The name under which the parent has this node.
pub(super) fn field_of(parent: Node<'_>, child: Node<'_>) -> Option<&'static str> {
    let mut cursor = parent.walk();
    if !cursor.goto_first_child() {
        return None;
    }
    loop {
        if cursor.node() == child {
            return cursor.field_name();
        }
        if !cursor.goto_next_sibling() {
            return None;
        }
    }
}

/// What stands in it; comments say nothing.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !is_comment(*child)).collect()
}

fn is_comment(node: Node<'_>) -> bool {
    node.kind().contains("comment")
}

pub(super) fn is_number(node: Node<'_>) -> bool {
    matches!(node.kind(), "int_literal" | "integer" | "number" | "integer_literal" | "decimal_integer_literal")
}

/// A string as a whole.
pub(super) fn is_string(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "string"
            | "string_literal"
            | "raw_string_literal"
            | "interpreted_string_literal"
            | "template_string"
            | "encapsed_string"
            | "heredoc"
            | "heredoc_body"
            | "nowdoc"
    )
}

/// A name that stands alone or is the last of a path.
pub(super) fn is_name(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "identifier"
            | "field_identifier"
            | "property_identifier"
            | "shorthand_property_identifier"
            | "type_identifier"
            | "constant"
            | "name"
            | "simple_symbol"
            | "hash_key_symbol"
    )
}

/// A path of names, such as `http.StatusTooManyRequests`.
pub(super) fn is_path(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "selector_expression"
            | "attribute"
            | "member_expression"
            | "scoped_identifier"
            | "scoped_type_identifier"
            | "field_expression"
            | "scope_resolution"
            | "field_access"
            | "class_constant_access_expression"
            | "qualified_name"
            | "qualified_type"
            | "nested_identifier"
    )
}

pub(super) fn is_call(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "call_expression"
            | "call"
            | "new_expression"
            | "macro_invocation"
            | "method_invocation"
            | "object_creation_expression"
            | "function_call_expression"
            | "member_call_expression"
            | "nullsafe_member_call_expression"
            | "scoped_call_expression"
            | "explicit_constructor_invocation"
    )
}

/// What is called.
pub(super) fn callee<'t>(call: Node<'t>) -> Option<Node<'t>> {
    ["function", "method", "name", "constructor", "macro", "type"]
        .iter()
        .find_map(|field| call.child_by_field_name(field))
        .or_else(|| call.named_child(0))
}

/// What has a name and a body of its own.
pub(super) fn is_function(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "function_declaration"
            | "method_declaration"
            | "func_literal"
            | "function_definition"
            | "lambda"
            | "function_expression"
            | "generator_function_declaration"
            | "arrow_function"
            | "method_definition"
            | "function_item"
            | "closure_expression"
            | "method"
            | "singleton_method"
            | "do_block"
            | "constructor_declaration"
            | "lambda_expression"
            | "anonymous_function"
            | "anonymous_function_creation_expression"
    ) || node.kind() == "block" && node.parent().is_some_and(|parent| parent.kind() == "call")
}

pub(super) fn is_class(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "class_declaration"
            | "class_definition"
            | "class"
            | "impl_item"
            | "class_body"
            | "enum_declaration"
            | "enum_item"
    ) && node.is_named()
}

/// A list of statements.
pub(super) fn is_block(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "block"
            | "statement_list"
            | "statement_block"
            | "body_statement"
            | "block_body"
            | "then"
            | "else"
            | "compound_statement"
            | "constructor_body"
            | "expression_case"
            | "default_case"
            | "switch_case"
            | "switch_default"
            | "switch_block_statement_group"
            | "case_statement"
            | "default_statement"
            | "program"
            | "source_file"
            | "module"
    ) && node.is_named()
}

/// A statement that runs others or not.
pub(super) fn is_branching(node: Node<'_>) -> bool {
    let kind = node.kind();
    ["if", "unless", "for", "while", "switch", "try", "case", "match", "loop", "begin", "with"]
        .iter()
        .any(|word| kind == *word || kind.strip_prefix(word).is_some_and(|rest| rest.starts_with('_')))
        || matches!(kind, "expression_switch_statement" | "enhanced_for_statement" | "foreach_statement")
}

/// The name of the nearest function or class around a node.
pub(super) fn within(node: Node<'_>, text: Text<'_>) -> Option<String> {
    let mut at = node;
    while let Some(parent) = at.parent() {
        if is_function(parent) || is_class(parent) {
            let name = parent.child_by_field_name("name").or_else(|| {
                let holder = parent.parent()?;
                match holder.kind() {
                    "variable_declarator" | "public_field_definition" => holder.child_by_field_name("name"),
                    "assignment_expression" | "assignment" => holder.child_by_field_name("left"),
                    "pair" => holder.child_by_field_name("key"),
                    _ => None,
                }
            });
            if let Some(name) = name.or_else(|| parent.child_by_field_name("type")) {
                return Some(text.of(name).chars().take(80).collect());
            }
        }
        at = parent;
    }
    None
}

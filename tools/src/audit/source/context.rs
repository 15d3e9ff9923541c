//! Whether a mention of 429 sends it: decided by what stands around it, from
//! the inside out.

use tree_sitter::Node;

use super::mentions::{Form, Mention};
use super::names::{is_answer, is_member_of_body, is_named_answer, is_question, is_status, is_test, is_wrapper};
use super::tree::{self, Text};

/// What a mention is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It sends the status, or makes what does.
    Sends,
    /// It names a member of a body or of an error: that may be all there is,
    /// or stand beside what sends.
    Describes,
    /// It gives the number another name.
    Defines(String),
    /// It compares, lists, tests or documents.
    Other,
}

pub(super) fn of(mention: &Mention<'_>, text: Text<'_>) -> Use {
    let mut node = mention.node;
    let mut called = false;
    // From `StatusTooManyRequests` to all of `http.StatusTooManyRequests`.
    while let Some(parent) = node.parent().filter(|parent| tree::is_path(*parent)) {
        if !is_last(parent, node) {
            break;
        }
        node = parent;
    }
    // What is named by a definition is not used there.
    if let Some(parent) = node.parent() {
        let field = tree::field_of(parent, node);
        let defines = matches!(field, Some("name" | "pattern" | "parameters")) && !tree::is_call(parent);
        if defines && mention.form == Form::Name && !tree::is_path(parent) && parent.kind() != "annotation" {
            return Use::Other;
        }
    }
    while let Some(parent) = node.parent() {
        let step = Step { mention, text, parent, node, field: tree::field_of(parent, node), called };
        match step.judge() {
            Next::Outward { called: now } => (node, called) = (parent, now),
            Next::Is(Use::Sends | Use::Describes) if is_tested(mention.node, text) => return Use::Other,
            Next::Is(found) => return found,
        }
    }
    Use::Other
}

fn is_last(path: Node<'_>, node: Node<'_>) -> bool {
    path.named_child(path.named_child_count().saturating_sub(1) as u32) == Some(node)
}

enum Next {
    /// Nothing is decided here.
    Outward {
        called: bool,
    },
    Is(Use),
}

const OTHER: Next = Next::Is(Use::Other);
const SENDS: Next = Next::Is(Use::Sends);

struct Step<'a, 't> {
    mention: &'a Mention<'t>,
    text: Text<'a>,
    parent: Node<'t>,
    node: Node<'t>,
    field: Option<&'static str>,
    /// The value is what a call answers.
    called: bool,
}

impl Step<'_, '_> {
    fn judge(&self) -> Next {
        let (parent, field) = (self.parent, self.field);
        let kind = parent.kind();
        if tree::is_path(parent) {
            return self.member();
        }
        if tree::is_call(parent) {
            return self.call();
        }
        match kind {
            "binary_expression" | "boolean_operator" | "binary" | "comparison_operator" => self.operator(),
            "conditional_expression" | "ternary_expression" | "conditional" if field == Some("condition") => OTHER,
            "switch_case"
            | "expression_case"
            | "case_clause"
            | "case_pattern"
            | "case_statement"
            | "when"
            | "in_clause"
            | "switch_label"
            | "match_pattern"
            | "pattern"
            | "match_condition_list"
            | "or_pattern"
            | "range_expression"
            | "range"
            | "subscript_expression"
            | "subscript"
            | "index_expression"
            | "element_reference"
            | "array_access"
            | "literal_type"
            | "enum_variant"
            | "enum_constant"
            | "enum_case"
            | "use_declaration"
            | "import_statement"
            | "import_from_statement"
            | "import_declaration"
            | "import_spec"
            | "exceptions"
            | "except_clause"
            | "catch_clause"
            | "type_arguments" => OTHER,
            "match_arm" if field == Some("pattern") => OTHER,
            "keyed_element"
            | "pair"
            | "field_initializer"
            | "array_element_initializer"
            | "element_value_pair"
            | "keyword_argument"
            | "argument"
            | "default_parameter"
            | "typed_default_parameter"
            | "assignment_pattern"
            | "optional_parameter"
            | "required_parameter"
            | "simple_parameter"
            | "base_field_initializer" => self.named(),
            "array"
            | "list"
            | "set"
            | "tuple"
            | "expression_list"
            | "tuple_expression"
            | "array_expression"
            | "array_creation_expression"
            | "array_initializer"
            | "literal_value"
            | "slice_expression"
            | "symbol_array" => self.collection(),
            "assignment"
            | "assignment_expression"
            | "assignment_statement"
            | "short_var_declaration"
            | "const_spec"
            | "var_spec"
            | "variable_declarator"
            | "let_declaration"
            | "const_item"
            | "static_item"
            | "const_element"
            | "property_element"
            | "public_field_definition"
            | "field_definition"
            | "enum_assignment"
            | "augmented_assignment"
            | "named_expression"
            | "operator_assignment" => self.assigned(),
            "annotation" | "attribute_item" | "attribute_list" | "marker_annotation" => self.annotation(),
            "return_statement" | "return_expression" | "return" | "lambda" | "arrow_function"
            | "closure_expression" | "lambda_expression" => self.returned(),
            "body_statement" | "then" | "block" | "block_body" if self.is_value_of_block() => self.returned(),
            _ if tree::is_block(parent) || tree::is_function(parent) || tree::is_class(parent) => OTHER,
            "if_statement" | "if" | "unless" | "while_statement" | "for_statement" | "if_expression"
            | "if_modifier" | "unless_modifier"
                if field == Some("condition") =>
            {
                OTHER
            }
            _ => Next::Outward { called: self.called },
        }
    }

    /// Something is asked of it: `StatusCode::TOO_MANY_REQUESTS.into_response()`.
    fn member(&self) -> Next {
        let name = self.text.last_word(self.parent);
        match name {
            "into_response" | "to_response" | "respond" | "ToResponse" => SENDS,
            "as_u16" | "value" | "getCode" | "getStatusCode" | "intValue" | "code" | "to_i" | "into" | "Value" => {
                Next::Outward { called: self.called }
            }
            // A builder, such as `HttpResponse::TooManyRequests().json(..)`.
            _ if self.called => SENDS,
            _ => OTHER,
        }
    }

    fn call(&self) -> Next {
        let Some(callee) = tree::callee(self.parent) else { return Next::Outward { called: true } };
        let is_callee = callee.byte_range().end >= self.node.byte_range().end
            && callee.byte_range().start <= self.node.byte_range().start;
        if is_callee {
            return self.called_by_name();
        }
        let receiver = ["object", "receiver"].iter().any(|field| self.field == Some(field));
        let name = match (self.text.last_word(callee), self.parent.child_by_field_name("receiver")) {
            ("new", Some(class)) => self.text.last_word(class),
            (name, _) => name,
        };
        if receiver {
            return match name {
                "value" | "getCode" | "code" | "to_i" | "getStatusCode" => Next::Outward { called: true },
                "into_response" | "to_response" => SENDS,
                _ => OTHER,
            };
        }
        if self.is_wrapper(name) {
            return Next::Outward { called: true };
        }
        match self.mention.form {
            Form::StatusLine if matches!(name, "header" | "start_response" | "set_status" | "send_status") => SENDS,
            Form::StatusLine => OTHER,
            _ if is_question(name) => OTHER,
            Form::Name => SENDS,
            Form::Number if is_answer(name) => SENDS,
            Form::Number => OTHER,
        }
    }

    /// A class of that name is the status; a function deals with it, unless it
    /// is a library's.
    fn called_by_name(&self) -> Next {
        let (name, mentioned) = (self.text.last_word(self.node), self.text.last_word(self.mention.node));
        let is_class = name.starts_with(char::is_uppercase) && self.mention.form == Form::Name;
        let is_librarys = is_named_answer(name) && self.node != self.mention.node;
        if name != mentioned || self.is_wrapper(name) || !is_class && !is_librarys {
            return Next::Outward { called: true };
        }
        SENDS
    }

    fn is_wrapper(&self, name: &str) -> bool {
        is_wrapper(name, self.mention.form == Form::Number)
    }

    fn operator(&self) -> Next {
        let operator = self.parent.child_by_field_name("operator").map(|operator| self.text.of(operator));
        match operator {
            Some("||" | "??" | "&&" | "or" | "and" | "?:") => Next::Outward { called: self.called },
            _ => OTHER,
        }
    }

    /// A value with a name: `status: 429`, `status_code=429`.
    fn named(&self) -> Next {
        let parent = self.parent;
        let key = ["key", "name", "field", "left", "pattern"]
            .iter()
            .find_map(|field| parent.child_by_field_name(field))
            .or_else(|| parent.named_child(0).filter(|_| parent.named_child_count() > 1));
        let Some(key) = key else { return Next::Outward { called: self.called } };
        if key == self.node || key.byte_range() == self.node.byte_range() {
            return OTHER;
        }
        let name = self.text.said(key).trim_start_matches([':', '$']).trim_end_matches(':');
        if parent.kind() == "element_value_pair" {
            return if is_status(name) || name == "value" { Next::Outward { called: self.called } } else { OTHER };
        }
        if !is_status(name) {
            return OTHER;
        }
        if self.mention.form == Form::StatusLine && name != "status" {
            return OTHER;
        }
        if name.eq_ignore_ascii_case("code") { Next::Is(Use::Describes) } else { self.described(name) }
    }

    /// A status inside of an object that is the argument of what answers a
    /// body tells of the status, it does not set it.
    fn described(&self, name: &str) -> Next {
        let mut at = self.parent;
        while let Some(parent) = at.parent() {
            if tree::is_call(parent) {
                let callee = tree::callee(parent).map(|callee| self.text.last_word(callee)).unwrap_or_default();
                if is_question(callee) {
                    return OTHER;
                }
                let is_body = is_member_of_body(callee);
                let first = parent.child_by_field_name("arguments").and_then(|arguments| arguments.named_child(0));
                let in_first = first.is_some_and(|first| {
                    first.byte_range().start <= at.byte_range().start && first.byte_range().end >= at.byte_range().end
                });
                return if is_body && in_first && name != "status_code" { Next::Is(Use::Describes) } else { SENDS };
            }
            if tree::is_block(parent) || tree::is_function(parent) {
                break;
            }
            at = parent;
        }
        SENDS
    }

    fn collection(&self) -> Next {
        let parent = self.parent;
        let all = tree::children(parent);
        let is_other = |node: &Node<'_>| *node != self.node && !tree::is_number(*node) && !tree::is_string(*node);
        match parent.kind() {
            // What Rack answers: status, fields, body.
            "array"
                if all.len() == 3 && all[0] == self.node && matches!(all[1].kind(), "hash" | "identifier" | "call") =>
            {
                SENDS
            }
            // What Flask and axum answer: a body and its status.
            "expression_list" | "tuple"
                if self.is_answered() && all.iter().any(|node| is_other(node) || tree::is_string(*node)) =>
            {
                SENDS
            }
            "expression_list" if all.len() == 1 => Next::Outward { called: self.called },
            "tuple_expression" if self.mention.form == Form::Name && !self.is_in_table() => SENDS,
            _ => OTHER,
        }
    }

    fn is_answered(&self) -> bool {
        self.parent.parent().is_some_and(|parent| matches!(parent.kind(), "return_statement" | "lambda"))
    }

    fn is_in_table(&self) -> bool {
        self.parent.parent().is_some_and(|parent| {
            matches!(
                parent.kind(),
                "array_expression" | "const_item" | "static_item" | "token_tree" | "reference_expression"
            )
        })
    }

    fn assigned(&self) -> Next {
        let parent = self.parent;
        let target = ["left", "name", "property", "pattern"].iter().find_map(|field| parent.child_by_field_name(field));
        let Some(target) = target.or_else(|| parent.named_child(0)) else { return OTHER };
        if target.byte_range().end >= self.node.byte_range().end {
            return OTHER;
        }
        let name = self.text.last_word(target);
        if is_status(name) {
            return if self.mention.form == Form::StatusLine && name != "status" { OTHER } else { SENDS };
        }
        if self.mention.form == Form::StatusLine || self.called {
            return OTHER;
        }
        Next::Is(Use::Defines(name.to_owned()))
    }

    /// Annotations that set a status; the others document one.
    fn annotation(&self) -> Next {
        let text = self.text.of(self.parent);
        let sets = ["ResponseStatus", "#[response(", "#[status", "HttpCode"].iter().any(|word| text.contains(word));
        if sets { SENDS } else { OTHER }
    }

    fn returned(&self) -> Next {
        if matches!(self.field, Some("parameters" | "parameter")) {
            return OTHER;
        }
        let function = tree::within(self.node, self.text).unwrap_or_default().to_ascii_lowercase();
        let of_status = function.contains("status") || function.contains("code");
        match self.mention.form {
            Form::Name if self.mention.node.kind() != "simple_symbol" || of_status => SENDS,
            Form::Number if of_status => SENDS,
            _ => OTHER,
        }
    }

    /// The last expression of a block is its value, where the language has it
    /// so.
    fn is_value_of_block(&self) -> bool {
        let is_last = tree::children(self.parent).last() == Some(&self.node);
        let kind = self.node.kind();
        // Rust wraps what ends in a block, and marks what is no value.
        let is_bare = kind == "expression_statement" && !self.text.of(self.node).ends_with(';');
        let is_expression = !kind.ends_with("statement") && !kind.ends_with("declaration") || is_bare;
        is_last && is_expression && !tree::is_class(self.parent)
    }
}

/// Whether a call around it holds it against something, or plays a server for
/// a test.
fn is_tested(node: Node<'_>, text: Text<'_>) -> bool {
    let mut at = node;
    while let Some(parent) = at.parent() {
        if tree::is_function(parent) || tree::is_block(parent) {
            return false;
        }
        if tree::is_call(parent)
            && let Some(callee) = tree::callee(parent)
            && callee.end_byte() <= node.start_byte()
            && (is_test(text.last_word(callee)) || is_test(text.of(callee)))
        {
            return true;
        }
        at = parent;
    }
    false
}

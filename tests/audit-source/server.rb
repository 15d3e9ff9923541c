# Sends 429, :too_many_requests.
RETRYABLE = [429, 503].freeze
PHRASES = { 429 => "Too Many Requests" }.freeze
SLOW_DOWN = 429

class ItemsController < ApplicationController
  def bare
    head :too_many_requests # SENDS nothing
  end

  def whole
    response.headers["Retry-After"] = "30"
    render json: { retry: true, retryAfter: 30 }, status: :too_many_requests # SENDS windowed
  end

  def number
    render json: { retry: false }, status: 429 # SENDS permanent
  end

  def own
    response.status = SLOW_DOWN # SENDS nothing
  end
end

get "/sinatra" do
  halt 429, { "Retry-After" => "30" }, "slow down" # SENDS header
end

Rack::Attack.throttled_responder = lambda do |request|
  [429, { "retry-after" => "30" }, ["slow down"]] # SENDS header
end

def client(response)
  return true if response.code == 429 || RETRYABLE.include?(429)

  case response.status
  when 429 then "got 429"
  else PHRASES[429]
  end
end

it "limits" do
  expect(response.status).to eq(429)
  expect(response).to have_http_status(:too_many_requests)
end

class Api < Grape::API
  get { error!({ retry: false }, 429) } # SENDS permanent

  def app(env)
    Rack::Response.new("slow down", 429, { "Retry-After" => "30" }).finish # SENDS header
  end

  def client
    call
  rescue RestClient::TooManyRequests => error
    logger.warn("429 #{error}")
    { width: 429, limit: 429 }
  end
end

post("/status") do
  status 429 # SENDS nothing
end
